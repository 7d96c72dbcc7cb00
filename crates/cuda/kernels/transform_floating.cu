/* Transforms in double precision. */
#include "residues.h"
#include "floating.h"
#define NAME(kernel) kernel##_floating
#include "transform.h"
