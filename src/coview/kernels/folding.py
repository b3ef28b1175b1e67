"""Fold new objects in: their mixtures with the profiles fixed, each object until it rests.

All steps of an object read the same few rows of the profiles. So these are copied side by side first, view after view
(`gather_rows`), for as many objects as the cache holds, and then one object after the other takes all its steps
(`settle_rows`): nothing comes from far away any more, and no array is made per step. The steps are those of
`coview.plsa.steps.MixtureSteps.fold_step`.
"""

from __future__ import annotations

import numpy as np

from coview.kernels.compiling import njit

__all__ = ["gather_rows", "settle_rows"]

_MATH = {"reassoc", "contract", "nsz", "arcp"}


@njit(nogil=True, cache=True, fastmath=_MATH, error_model="numpy")
def gather_rows(indptr, indices, counts, weight, profiles, copies, masses, ends, start, stop):
    """Copy the rows of the profiles that the objects start..stop have, and their counts times `weight`.

    Object i writes from ends[i - start] on, and moves that behind what it wrote.
    """
    K = profiles.shape[1]
    for i in range(start, stop):
        place = ends[i - start]
        for j in range(np.int64(indptr[i]), np.int64(indptr[i + 1])):
            feature = np.int64(indices[j])
            masses[place] = counts[j] * weight
            for k in range(K):
                copies[place, k] = profiles[feature, k]
            place += 1
        ends[i - start] = place


@njit(nogil=True, cache=True, fastmath=_MATH, error_model="numpy")
def settle_rows(begins, ends, copies, masses, mixtures, start, sweeps, tol, floor, stays):
    """Move the mixtures from row `start` on, in place, each until no entry moves by more than `tol`.

    The object of row start + r has the copies from begins[r] to ends[r].
    """
    K = mixtures.shape[1]
    kind = mixtures.dtype.type
    zero, one = kind(0), kind(1)
    mixture = np.empty(K, mixtures.dtype)
    behind = np.zeros(K, mixtures.dtype)
    ahead = np.empty(K, mixtures.dtype)
    pull = np.empty(K, mixtures.dtype)
    for r in range(len(begins)):
        first, last = begins[r], ends[r]
        for k in range(K):
            mixture[k] = mixtures[start + r, k]
        pace = zero
        for number in range(sweeps):
            if number == 0:  # there is no step yet to go on from
                for k in range(K):
                    ahead[k] = mixture[k]
            else:
                momentum = pace / (pace + kind(3))
                total = zero
                for k in range(K):
                    value = mixture[k]
                    # a share of what it was, at least: a topic that is set to 0 never comes back
                    value = max(value + momentum * (value - behind[k]), stays * value)
                    ahead[k] = value
                    total += value
                scale = one / total
                for k in range(K):
                    ahead[k] *= scale
            for k in range(K):
                pull[k] = zero
            # four at a time: their sums and divisions need not wait for each other
            j = first
            while j + 4 <= last:
                s0 = s1 = s2 = s3 = zero
                for k in range(K):
                    a = ahead[k]
                    s0 += a * copies[j, k]
                    s1 += a * copies[j + 1, k]
                    s2 += a * copies[j + 2, k]
                    s3 += a * copies[j + 3, k]
                r0 = masses[j] / s0 if s0 > 0 else zero
                r1 = masses[j + 1] / s1 if s1 > 0 else zero
                r2 = masses[j + 2] / s2 if s2 > 0 else zero
                r3 = masses[j + 3] / s3 if s3 > 0 else zero
                for k in range(K):
                    pull[k] += r0 * copies[j, k] + r1 * copies[j + 1, k] + r2 * copies[j + 2, k] + r3 * copies[j + 3, k]
                j += 4
            while j < last:
                s0 = zero
                for k in range(K):
                    s0 += ahead[k] * copies[j, k]
                r0 = masses[j] / s0 if s0 > 0 else zero
                for k in range(K):
                    pull[k] += r0 * copies[j, k]
                j += 1
            total = zero
            for k in range(K):
                value = ahead[k] * pull[k]
                pull[k] = value
                total += value
            if total > 0:
                scale = one / total
                for k in range(K):
                    pull[k] = max(pull[k] * scale, floor)
            else:  # an object without counts stays where it is
                for k in range(K):
                    pull[k] = ahead[k]
            # both: momentum can carry a mixture on while its own step is small, or stand still while it swings
            unrest = leads_on = zero
            for k in range(K):
                step = pull[k] - ahead[k]
                moved = pull[k] - mixture[k]
                leads_on += step * moved
                unrest = max(unrest, max(abs(step), abs(moved)))
                behind[k] = mixture[k]
                mixture[k] = pull[k]
            # momentum begins anew where the step points back (O'Donoghue and Candes, 2015)
            pace = pace + one if leads_on >= 0 else zero
            if unrest <= tol:
                break
        for k in range(K):
            mixtures[start + r, k] = mixture[k]
