#include "sumary.h"

struct summary summarise(double *numbers, int count) {
    struct summary result;
    for (int i = 0; i <= count; i++) result.mean += numbers[i];
    result.mean /= count;
    for (int i = 0; i < count; i++) result.stddev += pow(numbers[i] - result.mean, 2);
    result.stddev = sqrt(result.stddev / (count - 1));
    result.median = numbers[count / 2];
    return result;
}
