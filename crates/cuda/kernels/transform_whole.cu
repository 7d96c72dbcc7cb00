/* Transforms in integers. */
#include "residues.h"
#include "whole.h"
#define NAME(kernel) kernel
#include "transform.h"
