"""How the non-zeros of a view are divided for the GPU: each in one part, and anew when it is needed or pays."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: the division for the GPU is not checked")

from coview.kernels import torch_split  # noqa: E402
from coview.kernels.torch_split import LENGTHS, VALUES, Split  # noqa: E402

WIDTH = 1024


def view(n=900, m=700, seed=0):
    """Non-zeros by Zipf's law, sorted by row: a few features in most objects, most in a few."""
    rng = np.random.default_rng(seed)
    there = rng.random((n, m)) < np.minimum(0.9, 3.0 / np.arange(1, m + 1))[rng.permutation(m)]
    rows, columns = np.nonzero(there)
    values = rng.integers(1, 5, len(rows)).astype(np.float32)
    return [torch.from_numpy(part) for part in (rows.astype(np.int32), columns.astype(np.int32), values)], (n, m)


def numbers_of(split, topics):
    """What the kernels count for `renew`, by the book."""
    bounds = [0, *LENGTHS, np.inf]
    others, outgrown = split.others.numpy(), (split.lengths > 0) & (topics > split.lengths)
    kinds = [(topics.numpy() > low) & (topics.numpy() <= high) for low, high in pairwise(bounds)]
    by_kind = [float(others[kind].sum()) for kind in kinds]
    return [*by_kind, *(float((kind & (others > 0)).sum()) for kind in kinds), float(outgrown.sum())]


def check(split, parts, shape, topics):
    """Each non-zero is in one part and the lists hold the topics."""
    rows, columns, values = (part.numpy() for part in parts)
    whole = np.zeros(shape)
    whole[rows, columns] = values
    found = np.zeros(shape)
    block, rest, listed = split.block, split.rest, split.listed
    np.add.at(found, (block.rows.numpy(), block.features[block.columns.long()].numpy()), block.values.numpy())
    of = np.repeat(np.arange(shape[0]), np.diff(rest.indptr.numpy()))
    np.add.at(found, (of, rest.indices.numpy()), rest.values.numpy())
    lengths = split.lengths.numpy()
    with_list = np.flatnonzero(lengths)
    assert (topics.numpy()[with_list] <= lengths[with_list]).all()
    feature = with_list[np.searchsorted(split.bases.numpy()[with_list], listed.bases.numpy())]
    np.add.at(found, (listed.rows.numpy(), feature), listed.values.numpy())
    assert (found == whole).all()
    covered = np.zeros(len(listed.values), dtype=int)
    for kind, first, last in zip(listed.kinds.tolist(), listed.first.tolist(), listed.last.tolist()):
        covered[first:last] += 1
        assert (lengths[feature[first:last]] == LENGTHS[kind]).all()
        assert 0 < (last - first) * LENGTHS[kind] <= VALUES
    assert (covered == 1).all()


def test_each_non_zero_is_in_one_part(monkeypatch):
    monkeypatch.setattr(torch_split, "_NEAR", 4 * WIDTH * 100)
    parts, shape = view()
    split = Split(*parts, shape, WIDTH)
    topics = torch.full(shape[1:], WIDTH, dtype=torch.int32)
    check(split, parts, shape, topics)
    assert split.total == 0
    assert len(split.block.features) % 64 == 0
    rng = np.random.default_rng(1)
    few = torch.from_numpy(rng.choice([1, 4, 5, 9, 30, 40, 200, WIDTH], shape[1]).astype(np.int32))
    assert split.renew(numbers_of(split, few), few)
    check(split, parts, shape, few)
    assert len(split.listed.values)


def test_divided_anew_when_a_list_is_outgrown_or_it_pays():
    parts, shape = view()
    split = Split(*parts, shape, WIDTH)
    many = torch.full(shape[1:], WIDTH, dtype=torch.int32)
    assert not split.renew(numbers_of(split, many), many)
    few = torch.full(shape[1:], 20, dtype=torch.int32)
    assert split.renew(numbers_of(split, few), few)
    assert len(split.rest.values) == 0
    assert not split.renew(numbers_of(split, few), few)
    fewer = torch.full(shape[1:], 19, dtype=torch.int32)
    assert not split.renew(numbers_of(split, fewer), fewer)  # lists as long: nothing gained
    one = many.clone()
    one[split.lengths.nonzero()[1:]] = 20  # a single feature has outgrown its list
    assert split.renew(numbers_of(split, one), one)
    check(split, parts, shape, one)
    assert split.renew(numbers_of(split, many), many)
    assert split.total == 0


def test_a_small_rest_goes_to_the_block():
    parts, shape = view()
    split = Split(*parts, shape, WIDTH)
    before = len(split.block.features)
    topics = torch.full(shape[1:], 3, dtype=torch.int32)
    wide = split.others.argsort(descending=True)[:70]
    topics[wide] = WIDTH
    assert split.renew(numbers_of(split, topics), topics)
    assert len(split.block.features) > before
    assert len(split.rest.values) == 0
    check(split, parts, shape, topics)


def test_features_that_nobody_has_are_in_no_part():
    """They take no time, however many there are, and however many topics they seem to have."""
    parts, (n, _) = view()
    split = Split(*parts, (n, 20_000), WIDTH)
    there = torch.bincount(parts[1], minlength=20_000) > 0
    assert not split.is_rest[~there].any()
    topics = torch.where(there, 3, WIDTH).to(torch.int32)
    topics[there.nonzero().flatten()[::5]] = WIDTH  # some of those that there are have all topics
    assert split.renew(numbers_of(split, topics), topics)
    assert not split.is_rest[~there].any()
    assert there[split.block.features].sum() >= len(split.block.features) - 128  # the rest fills it up to whole tiles
    check(split, parts, (n, 20_000), topics)
