struct summary { float mean, median, stddev; }
struct summary summarise(double *numbers, int count);
