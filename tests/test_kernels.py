import pytest
import torch

from fedadp.kernels import sums, torch_sums, torch_weigh, weigh

numba = pytest.importorskip("numba", reason="the compiled loops are the extra 'fast'")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(1, 1), (3, 1023), (3, 1024), (10, 5000), (200, 1500)])
def test_the_compiled_loops_agree_with_torch(shape, dtype):
    wide = torch.randn(shape[0], shape[1] + 7, dtype=dtype)
    slab = wide[:, 3 : 3 + shape[1]]  # rows that are not side by side
    shares = torch.rand(shape[0], dtype=torch.float64)
    for scales in (torch.ones_like(shares), torch.rand_like(shares)):
        ours, theirs = sums(slab, shares, scales), torch_sums(slab, shares, scales)
        torch.testing.assert_close(ours.squares, theirs.squares, rtol=1e-13, atol=0)
        torch.testing.assert_close(ours.dots, theirs.dots, rtol=1e-11, atol=1e-13)
        assert ours.mean_square == pytest.approx(theirs.mean_square, rel=1e-12)
    one, two = torch.empty(shape[1], dtype=dtype), torch.empty(shape[1], dtype=dtype)
    weigh(slab, shares, one)
    torch_weigh(slab, shares, two)
    torch.testing.assert_close(one, two)


@pytest.mark.parametrize("loops", [sums, torch_sums])
def test_what_is_not_finite_shows_in_its_own_square(loops):
    slab = torch.randn(3, 3000)
    slab[1, 2500] = torch.nan
    thirds = torch.full((3,), 1 / 3, dtype=torch.float64)
    finite = torch.isfinite(loops(slab, thirds, torch.ones_like(thirds)).squares)
    assert finite.tolist() == [True, False, True]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_summed_in_float64_too(dtype):
    slab = torch.full((2, 4000), 1.0, dtype=dtype)
    found = sums(slab, torch.full((2,), 0.5, dtype=torch.float64))
    assert found.squares.tolist() == [4000.0, 4000.0]
    assert found.mean_square == 4000.0
