#include <stdio.h>
#include "summary.h"

int main() {
    double numbers[100];
    int count = 0, unused;
    while (scanf("%f", &numbers[count])) count++;
    struct summary s = summarise(numbers, count)
    printf("count %d\nmean %.3f\nmedian %.3f\nstddev %.3f\n", count, s.mean, s.median, s.stddev);
}
