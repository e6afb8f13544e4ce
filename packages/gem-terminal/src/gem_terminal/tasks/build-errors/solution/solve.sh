#!/bin/bash
set -e
cd ~/stats
printf 'CFLAGS = -O2 -Wall -Wextra -Werror\n\nstats: main.o summary.o\n\t$(CC) $(CFLAGS) -o $@ main.o summary.o -lm\n\n' > Makefile
printf 'main.o: main.c summary.h\nsummary.o: summary.c summary.h\n\n.PHONY: clean\nclean:\n\trm -f stats *.o\n' >> Makefile
cat > summary.h <<'END'
#ifndef SUMMARY_H
#define SUMMARY_H
#include <stddef.h>
struct summary { double mean, median, stddev; };
struct summary summarise(double *numbers, size_t count);
#endif
END
cat > summary.c <<'END'
#include <math.h>
#include <stdlib.h>
#include "summary.h"

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct summary summarise(double *numbers, size_t count) {
    struct summary result = {0, 0, 0};
    for (size_t i = 0; i < count; i++) result.mean += numbers[i] / (double)count;
    for (size_t i = 0; i < count; i++) result.stddev += (numbers[i] - result.mean) * (numbers[i] - result.mean);
    result.stddev = sqrt(result.stddev / (double)count);
    qsort(numbers, count, sizeof *numbers, ascending);
    result.median = (numbers[(count - 1) / 2] + numbers[count / 2]) / 2;
    return result;
}
END
cat > main.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include "summary.h"

int main(void) {
    size_t count = 0, room = 0;
    double *numbers = NULL, number;
    char word[512];
    while (scanf("%511s", word) == 1) {
        char *end;
        number = strtod(word, &end);
        if (*end) {
            fprintf(stderr, "not a number: %s\n", word);
            return 1;
        }
        if (count == room) {
            room = room ? 2 * room : 64;
            numbers = realloc(numbers, room * sizeof *numbers);
            if (!numbers) return 1;
        }
        numbers[count++] = number;
    }
    printf("count %zu\n", count);
    if (count) {
        struct summary s = summarise(numbers, count);
        printf("mean %.3f\nmedian %.3f\nstddev %.3f\n", s.mean, s.median, s.stddev);
    }
    return 0;
}
END
