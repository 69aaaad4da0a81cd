/* Calls the kernel of build.py without Python, and compares it with a loop in C. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "softmax.h"

static double error_of_row(const float *x, const float *y, int64_t columns) {
  double total = 0, worst = 0;
  for (int64_t j = 0; j < columns; ++j) total += exp(x[j]);
  for (int64_t j = 0; j < columns; ++j) worst = fmax(worst, fabs(y[j] - exp(x[j]) / total));
  return worst;
}

int main(void) {
  const int64_t rows = 50, columns = 333;
  float *x = malloc(rows * columns * sizeof(float)), *y = malloc(rows * columns * sizeof(float));
  if (x == NULL || y == NULL) return 1;
  for (int64_t i = 0; i < rows * columns; ++i) x[i] = (float)sin((double)i) * 5;
  if (softmax(x, y, rows, columns) != 0) {
    fprintf(stderr, "%s\n", softmax_error());
    return 1;
  }
  double worst = 0;
  for (int64_t i = 0; i < rows; ++i) worst = fmax(worst, error_of_row(x + i * columns, y + i * columns, columns));
  printf("largest error %.1e: %s\n", worst, worst < 1e-6 ? "right" : "wrong");
  if (softmax(NULL, y, rows, columns) == 0) return 1;
  printf("refused: %s\n", softmax_error());
  free(x);
  free(y);
  return worst < 1e-6 ? 0 : 1;
}
