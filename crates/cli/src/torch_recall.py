"""The three-step early phase in PyTorch, timed on the same data as the engine.

    python crates/cli/src/torch_recall.py --import data.safetensors --method tuned --regime exact --repeat 3

Reads the tensors `z_in`, `z_out`, `z_trig`, `z_eos`, `tokens`, `position` and `labels` that `superpose run` exports,
trains the attention-only model in float32, and prints one line of JSON. `--export` writes `m1`, `w1` and `m2`.
It needs `torch` and `safetensors`.

There are three methods. `adam` times one full-batch step of Adam on M and W with the true softmax and analytic gradients: two
products of size N x V x d, which every exact step needs. It starts from random parameters; `--export` then writes `m`, `w` before and
`grad_m`, `grad_w` of that step.

The other two run the early phase. `autograd` is straightforward code: one forward pass, `backward`, no blocks. `tuned` is
optimised: analytic gradients, samples in blocks that fit in the cache, and large products only where the
algorithm needs them: four of size N x V x d in the exact regime (five when V < 5 L), none in the other.

There are two regimes. `exact` uses the given rates. `infinitesimal` is the limit of a small first rate, in which the
softmax over labels stays uniform; then `m1` is M1/eta and `m2` is (M2 - M1)/eta2.
"""

import argparse
import functools
import json
import math
import resource
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file

# Entries of a block's table of logits, with limits on the samples in a block. Smaller blocks spend their time in the
# interpreter, larger ones do not fit in the cache. At V = 1024, 256 to 2048 samples took the same time, within 3%.
BLOCK_ENTRIES = 1 << 20
BLOCK_LIMITS = (256, 4096)

# Largest label x token table, in bytes, that is worth random access. Above it, adding whole rows is faster: the two
# take the same time at V = 2048, tables half of it at V = 1400 and twice as much at V = 4096 (d = 128).
TABLE_BYTES = 12 << 20


def load(path, dtype=torch.float32, device="cpu"):
    """Returns the exported data: embeddings in one float type, indices in the type that every torch operation accepts.

    Tensors are copied, because loaded ones may be a memory map of the file, which is read only on first access.
    """
    raw = load_file(path)
    data = SimpleNamespace()
    for name in ("z_in", "z_out", "z_trig", "z_eos"):
        setattr(data, name, raw[name].to(device, dtype, copy=True).contiguous())
    for name in ("tokens", "position", "labels"):
        setattr(data, name, raw[name].to(device, torch.int64, copy=True).contiguous())
    return data


def choose_gamma(u, data, lead):
    """Returns the rate that gives the trigger a score of `lead` times ln(L + 1), of either sign.

    It is zero if step two learned nothing; step three has the same rate and then changes nothing in the exact regime.
    """
    pull = (data.z_eos @ data.z_eos).item() * abs((u @ data.z_trig).item())
    return lead * math.log(data.tokens.shape[1] + 1) / pull if pull > 0.0 else 0.0


# ---------------------------------------------------------------------------------------------------------------------
# Automatic differentiation


def autograd(data, regime, trigger, eta, lead, threads):
    torch.set_num_threads(threads)
    samples = torch.arange(data.tokens.shape[0])
    d = data.z_in.shape[1]
    m = torch.zeros(d, d, dtype=data.z_in.dtype, requires_grad=True)
    w = torch.zeros(d, d, dtype=data.z_in.dtype, requires_grad=True)

    def backward():
        m.grad = w.grad = None
        embedded = F.embedding(data.tokens, data.z_in)  # (N, L, d)
        x = embedded.clone() if trigger == "keys" else embedded
        x[samples, data.position] += data.z_trig
        values = embedded if trigger == "keys" else x
        attention = torch.softmax(x @ (w @ data.z_eos), dim=1)
        h = torch.einsum("nl,nld->nd", attention, values)
        logits = h @ m.T @ data.z_out.T
        if regime == "exact":
            loss = F.cross_entropy(logits, data.labels)
        else:
            # Cross-entropy to first order in the logits: its gradient has the softmax at its uniform value.
            loss = (logits.mean(dim=1) - logits[samples, data.labels]).mean()
        loss.backward()

    first = eta if regime == "exact" else 1.0
    backward()
    with torch.no_grad():
        m -= first * m.grad
        m1 = m.clone()

    backward()
    with torch.no_grad():
        u = -(w.grad @ data.z_eos) / (data.z_eos @ data.z_eos)
        gamma = choose_gamma(u, data, lead)
        w -= gamma * w.grad
        w1 = w.clone()

    backward()
    with torch.no_grad():
        m2 = m - gamma * m.grad if regime == "exact" else -m.grad
    return m1, w1, m2


# ---------------------------------------------------------------------------------------------------------------------
# Analytic gradients


@functools.cache
def workers(threads):
    """A pool of threads that are reused, because a new thread takes milliseconds for its first product."""
    return ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))


class Blocks:
    """Runs a function over shares of the samples, one Python thread for each share.

    Torch lets go of the interpreter inside its operations. Two threads of single-threaded work are a fifth faster
    here than one thread whose operations are split in two: nothing waits at the end of each operation, and the
    operations that torch does not split, such as scattering, are split too.
    """

    def __init__(self, samples, block, threads):
        torch.set_num_threads(threads)  # of this thread, for the small products between the steps
        # Blocks may be made somewhat smaller, so that every thread gets the same number.
        rounds = -(-samples // (block * threads))
        self.samples, self.block, self.threads = samples, -(-samples // (rounds * threads)), threads

    def run(self, work):
        """`work(blocks)` gets a list of slices and returns a tuple of tensors; the tuples are added up."""
        starts = range(0, self.samples, self.block)
        slices = [slice(start, min(start + self.block, self.samples)) for start in starts]
        share = -(-len(slices) // self.threads)
        shares = [slices[i : i + share] for i in range(0, len(slices), share)]

        def one(blocks):
            with torch.inference_mode():  # a setting of the thread, so it must be made here
                return work(blocks)

        # A GPU is kept busy by one thread, which is also the one with the default device.
        inline = torch.get_default_device().type == "cuda"
        results = map(one, shares) if inline else workers(self.threads).map(one, shares)
        return tuple(sum(parts) for parts in zip(*results))


def size(block):
    return block.stop - block.start


class Dots:
    """g_n . z_in[tok_i] for all positions of a block of samples. No (N, L, d) tensor is made.

    Long sequences over few tokens: one dense product, then a gather. Else the entries at the tokens are the only ones
    of that product that are computed, a fifth as fast for each entry.
    """

    def __init__(self, data, block):
        self.data = data
        if not self.dense(data):
            length = data.tokens.shape[1]
            self.rows = torch.arange(0, block * length + 1, length)
            self.zeros = torch.zeros(block * length, dtype=data.z_in.dtype)

    @staticmethod
    def dense(data):
        return len(data.z_in) < 5 * data.tokens.shape[1]

    def __call__(self, g, block):
        tokens = self.data.tokens[block]
        if self.dense(self.data):
            return torch.gather(g @ self.data.z_in.T, 1, tokens)
        shape = (len(g), len(self.data.z_in))
        flat = tokens.view(-1)
        wanted = torch.sparse_csr_tensor(self.rows[: len(g) + 1], flat, self.zeros[: len(flat)], shape, check_invariants=False)
        return torch.sparse.sampled_addmm(wanted, g, self.data.z_in.T, beta=0.0).values().view(tokens.shape)


def look_up(table, where, space):
    """Returns table[where], written to the first rows of `space`, so that no block allocates memory."""
    out = space[: len(where)]
    torch.index_select(table, 0, where.view(-1), out=out.view(-1))
    return out


def attention_weights(data, block, token_scores, trigger_score, space):
    """Returns the softmax attention of a block by table look-up, which suffices because W1 has rank one."""
    tokens = data.tokens[block]
    a = look_up(token_scores, tokens, space)
    a.scatter_add_(1, data.position[block, None], trigger_score.expand(len(tokens), 1))
    return torch.softmax(a, 1, out=a)


def scatter_step_two(data, block, slope, sums):
    """Adds a block's share of step two to `sums`, the coefficients of z_in[0], z_in[1], ... and of z_trig.

    `slope` holds g_n . v_i, and is overwritten.
    """
    slope -= slope.mean(1, keepdim=True)
    sums[:-1].scatter_add_(0, data.tokens[block].view(-1), slope.view(-1))
    sums[-1] += slope.gather(1, data.position[block, None]).sum()


def finish_step_two(data, sums, lead):
    """W1, its rate, and the scores it gives to every token and to the trigger."""
    n, length = data.tokens.shape
    u = (data.z_in.T @ sums[:-1] + sums[-1] * data.z_trig) / (n * length)
    gamma = choose_gamma(u, data, lead)
    key = gamma * (data.z_eos @ data.z_eos) * u
    return gamma * torch.outer(u, data.z_eos), gamma, data.z_in @ key, data.z_trig @ key


def default_block(row):
    """Returns the number of samples in a block, when each has `row` entries in the largest table."""
    low, high = BLOCK_LIMITS
    return max(low, min(high, BLOCK_ENTRIES // row))


def tuned_exact(data, trigger, eta, lead, threads, block=None):
    n, length = data.tokens.shape
    outputs, d = data.z_out.shape
    dtype = data.z_in.dtype
    run = Blocks(n, block or default_block(outputs), threads)
    h_uniform = torch.empty(n, d, dtype=dtype)

    def one(blocks):
        sums = torch.zeros(outputs, d, dtype=dtype)
        for b in blocks:
            h = F.embedding_bag(data.tokens[b], data.z_in, mode="sum")  # "mean" is five times slower
            if trigger == "values":
                h += data.z_trig
            torch.mul(h, 1.0 / length, out=h_uniform[b])
            sums.index_add_(0, data.labels[b], h_uniform[b])
        return (sums,)

    (sums,) = run.run(one)
    m1 = data.z_out.T @ (sums - sums.mean(0)) * (eta / n)
    readout = data.z_out @ m1  # logits are readout . h

    def two(blocks):
        sums = torch.zeros(len(data.z_in) + 1, dtype=dtype)
        q_space = torch.empty(run.block, outputs, dtype=dtype)
        g_space = torch.empty(run.block, d, dtype=dtype)
        dots = Dots(data, run.block)
        for b in blocks:
            q = torch.mm(h_uniform[b], readout.T, out=q_space[: size(b)])
            torch.softmax(q, 1, out=q)
            g = torch.addmm(readout.index_select(0, data.labels[b]), q, readout, alpha=-1.0, out=g_space[: size(b)])
            slope = dots(g, b)
            if trigger == "values":
                slope.scatter_add_(1, data.position[b, None], (g @ data.z_trig)[:, None])
            scatter_step_two(data, b, slope, sums)
        return (sums,)

    (sums,) = run.run(two)
    w1, gamma, token_scores, trigger_score = finish_step_two(data, sums, lead)

    def three(blocks):
        sums = torch.zeros(d, outputs, dtype=dtype)  # this way round the product is faster
        q_space = torch.empty(run.block, outputs, dtype=dtype)
        a_space = torch.empty(run.block, length, dtype=dtype)
        minus_one = torch.full((run.block, 1), -1.0, dtype=dtype)
        for b in blocks:
            a = attention_weights(data, b, token_scores, trigger_score, a_space)
            h = F.embedding_bag(data.tokens[b], data.z_in, mode="sum", per_sample_weights=a)
            if trigger == "values":
                h.addmm_(a.gather(1, data.position[b, None]), data.z_trig[None])
            r = torch.mm(h, readout.T, out=q_space[: size(b)])
            torch.softmax(r, 1, out=r)
            r.scatter_add_(1, data.labels[b, None], minus_one[: size(b)])
            sums.addmm_(h.T, r, alpha=-1.0)
        return (sums,)

    (sums,) = run.run(three)
    return m1, w1, m1 + data.z_out.T @ sums.T * (gamma / n)


class Adam:
    """Full-batch Adam on M and W. One call is one step; the gradient of the last step is kept."""

    def __init__(self, data, trigger, threads, block=None, rate=0.01):
        d = data.z_in.shape[1]
        generator = torch.Generator().manual_seed(0)
        draw = lambda: torch.randn(d, d, generator=generator, dtype=data.z_in.dtype)
        self.data, self.trigger, self.rate = data, trigger, rate
        self.run = Blocks(len(data.tokens), block or default_block(len(data.z_out)), threads)
        self.parameters = [draw(), draw()]
        self.first = [torch.zeros(d, d, dtype=data.z_in.dtype) for _ in range(2)]
        self.second = [torch.zeros(d, d, dtype=data.z_in.dtype) for _ in range(2)]
        self.steps = 0

    def gradient(self):
        data, in_values = self.data, self.trigger == "values"
        n, length = data.tokens.shape
        outputs, d = data.z_out.shape
        dtype = data.z_in.dtype
        m, w = self.parameters
        query = w @ data.z_eos
        token_scores, trigger_score = data.z_in @ query, data.z_trig @ query
        readout = data.z_out @ m
        run = self.run

        def work(blocks):
            by_m = torch.zeros(d, d, dtype=dtype)
            sums = torch.zeros(len(data.z_in) + 1, dtype=dtype)
            loss = torch.zeros((), dtype=dtype)
            r_space = torch.empty(run.block, outputs, dtype=dtype)
            a_space = torch.empty(run.block, length, dtype=dtype)
            y_space, g_space = torch.empty(run.block, d, dtype=dtype), torch.empty(run.block, d, dtype=dtype)
            minus_one = torch.full((run.block, 1), -1.0, dtype=dtype)
            dots = Dots(data, run.block)
            for b in blocks:
                a = attention_weights(data, b, token_scores, trigger_score, a_space)
                h = F.embedding_bag(data.tokens[b], data.z_in, mode="sum", per_sample_weights=a)
                if in_values:
                    h.addmm_(a.gather(1, data.position[b, None]), data.z_trig[None])
                r = torch.mm(h, readout.T, out=r_space[: size(b)])
                torch.softmax(r, 1, out=r)
                loss -= r.gather(1, data.labels[b, None]).log().sum()
                r.scatter_add_(1, data.labels[b, None], minus_one[: size(b)])
                # Computed from y, the gradients of M and of h take N d^2 operations each instead of N V d.
                y = torch.mm(r, data.z_out, out=y_space[: size(b)])
                by_m.addmm_(y.T, h)
                g = torch.mm(y, m, out=g_space[: size(b)])
                slope = dots(g, b)
                if in_values:
                    slope.scatter_add_(1, data.position[b, None], (g @ data.z_trig)[:, None])
                slope -= (slope * a).sum(1, keepdim=True)
                slope *= a
                sums[:-1].scatter_add_(0, data.tokens[b].view(-1), slope.view(-1))
                sums[-1] += slope.gather(1, data.position[b, None]).sum()
            return by_m, sums, loss

        by_m, sums, loss = run.run(work)
        u = (data.z_in.T @ sums[:-1] + sums[-1] * data.z_trig) / n
        return by_m / n, torch.outer(u, data.z_eos), loss / n

    def step(self):
        with torch.inference_mode():
            *self.gradients, self.loss = self.gradient()
            self.steps += 1
            scale = self.rate / (1.0 - 0.9**self.steps)
            root = math.sqrt(1.0 - 0.999**self.steps)
            for p, g, first, second in zip(self.parameters, self.gradients, self.first, self.second):
                first.lerp_(g, 0.1)
                second.mul_(0.999).addcmul_(g, g, value=0.001)
                p.addcdiv_(first, (second.sqrt() / root).add_(1e-8), value=-scale)


def time_adam(args, data):
    """Returns the seconds of the shortest step, and writes the first gradient to a file if requested."""
    adam = Adam(data, args.trigger, args.threads, args.block)
    if args.export:
        m, w = (p.clone() for p in adam.parameters)
        adam.step()
        grad_m, grad_w = (g.clone() for g in adam.gradients)
        save_file({"m": m, "w": w, "grad_m": grad_m, "grad_w": grad_w}, args.export)
    before = resident()
    # The first step also allocates memory, so more than one is timed.
    seconds, _ = best_of(max(args.repeat, 2), adam.step)
    peak = peak_resident()
    print(json.dumps({"method": "adam", "train_seconds": seconds, "peak_bytes": peak - before, "peak_total_bytes": peak, "torch": torch.__version__}))


def product_work(data, threads, block=None):
    """Runs only the N x V x d products of `tuned_exact`, in the same blocks and threads."""
    outputs, d = data.z_out.shape
    run = Blocks(len(data.tokens), block or default_block(outputs), threads)
    h = torch.rand(len(data.tokens), d)
    readout = torch.rand(outputs, d)

    def work(blocks):
        sums = torch.zeros(d, outputs)
        q_space = torch.empty(run.block, outputs)
        g_space = torch.empty(run.block, d)
        for b in blocks:
            q, g = q_space[: size(b)], g_space[: size(b)]
            torch.mm(h[b], readout.T, out=q)
            torch.mm(q, readout, out=g)
            if Dots.dense(data):
                g @ data.z_in.T
            torch.mm(h[b], readout.T, out=q)
            sums.addmm_(h[b].T, q)
        return (sums,)

    return lambda: run.run(work)


def tuned_infinitesimal(data, trigger, lead, threads, block=None):
    n, length = data.tokens.shape
    vocab, d = data.z_in.shape
    outputs = len(data.z_out)
    dtype = data.z_in.dtype
    run = Blocks(n, block or default_block(8 * length), threads)
    small = outputs * vocab * data.z_in.element_size() <= TABLE_BYTES
    in_values = trigger == "values"

    def label_sums(weights):
        """Sums of h by label. `weights` writes the attention of a block, or is None when it is uniform."""

        def by_table(blocks):
            # The attention of each label on each token; the embeddings are multiplied once, at the end.
            table = torch.zeros(outputs * vocab, dtype=dtype)
            triggered = torch.zeros(outputs, dtype=dtype)
            cells = torch.empty(run.block, length, dtype=torch.int64)
            a_space = torch.full((run.block, length), 1.0 / length, dtype=dtype)
            for b in blocks:
                a = weights(b, a_space) if weights else a_space[: size(b)]
                where = torch.add(data.tokens[b], data.labels[b, None], alpha=vocab, out=cells[: size(b)])
                table.scatter_add_(0, where.view(-1), a.view(-1))
                if in_values:
                    triggered.scatter_add_(0, data.labels[b], a.gather(1, data.position[b, None])[:, 0])
            return table, triggered

        def by_row(blocks):
            sums = torch.zeros(outputs, d, dtype=dtype)
            triggered = torch.zeros(outputs, dtype=dtype)
            a_space = torch.full((run.block, length), 1.0 / length, dtype=dtype)
            for b in blocks:
                a = weights(b, a_space) if weights else a_space[: size(b)]
                sums.index_add_(0, data.labels[b], F.embedding_bag(data.tokens[b], data.z_in, mode="sum", per_sample_weights=a))
                if in_values:
                    triggered.scatter_add_(0, data.labels[b], a.gather(1, data.position[b, None])[:, 0])
            return sums, triggered

        sums, triggered = run.run(by_table if small else by_row)
        if small:
            sums = sums.view(outputs, vocab) @ data.z_in
        return sums + torch.outer(triggered, data.z_trig)

    def gradient(sums):
        return data.z_out.T @ (sums - sums.mean(0)) / n

    m1 = gradient(label_sums(None))

    readout = data.z_out @ m1
    g = readout - readout.mean(0)  # of a sample with this label
    g_trig = g @ data.z_trig
    table = (g @ data.z_in.T).view(-1) if small else None

    def two(blocks):
        sums = torch.zeros(vocab + 1, dtype=dtype)
        cells = torch.empty(run.block, length, dtype=torch.int64)
        slope_space = torch.empty(run.block, length, dtype=dtype)
        dots = Dots(data, run.block)
        for b in blocks:
            labels = data.labels[b]
            if small:
                where = torch.add(data.tokens[b], labels[:, None], alpha=vocab, out=cells[: size(b)])
                slope = look_up(table, where, slope_space)
            else:
                slope = dots(g.index_select(0, labels), b)
            if in_values:
                slope.scatter_add_(1, data.position[b, None], g_trig.index_select(0, labels)[:, None])
            scatter_step_two(data, b, slope, sums)
        return (sums,)

    (sums,) = run.run(two)
    w1, _, token_scores, trigger_score = finish_step_two(data, sums, lead)
    return m1, w1, gradient(label_sums(lambda b, space: attention_weights(data, b, token_scores, trigger_score, space)))


# ---------------------------------------------------------------------------------------------------------------------
# Measuring


def best_of(repeat, work):
    """Returns the shortest time of `repeat` runs, in seconds, and the last result."""
    best, result = math.inf, None
    for _ in range(repeat):
        result = None  # holding two results would increase the peak memory
        start = time.perf_counter()
        result = work()
        if torch.get_default_device().type == "cuda":
            torch.cuda.synchronize()
        best = min(best, time.perf_counter() - start)
    return best, result


def resident():
    """Returns the memory of this process in bytes, or its peak where the system does not report the current value."""
    try:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * resource.getpagesize()
    except OSError:
        return peak_resident()


def peak_resident():
    """Returns the peak memory of this process in bytes, or of its tensors on a GPU."""
    if torch.get_default_device().type == "cuda":
        return torch.cuda.max_memory_allocated()
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--import", dest="source", required=True, metavar="FILE", help="data exported by our program")
    parser.add_argument("--method", choices=("autograd", "tuned", "adam"), required=True)
    parser.add_argument("--regime", choices=("exact", "infinitesimal"), default="exact")
    parser.add_argument("--trigger", choices=("values", "keys"), default="values")
    parser.add_argument("--eta", type=float, default=1.0, help="rate of step one (exact regime only)")
    parser.add_argument("--lead", type=float, default=4.0, help="lead of the trigger's score, in units of ln(L + 1)")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=1, help="train this often and report the shortest time")
    parser.add_argument("--block", type=int, help="samples in a block (tuned only); by default what measured best")
    parser.add_argument("--export", metavar="FILE", help="write m1, w1 and m2, or the first gradient of adam, to this file")
    return parser.parse_args()


def main():
    args = arguments()
    warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
    torch.set_default_device(args.device)
    if args.device != "cpu":
        # The statistics of memory are those of the current GPU.
        torch.cuda.set_device(args.device if ":" in args.device else 0)
    data = load(args.source, device=args.device)
    if args.device != "cpu":
        # On a GPU larger blocks are faster, up to a size that depends on the problem.
        args.threads = 1
        if args.method == "tuned" and args.block is None:
            return fastest_block(args, data)
    if args.method == "adam":
        return time_adam(args, data)

    measure(args, data)


def fastest_block(args, data):
    """Measures with blocks of different sizes, and reports the fastest."""
    seconds = {}
    for block in (4096, 16384, 65536):
        train = trainer(args, data, block)
        best_of(1, train)
        seconds[block], _ = best_of(args.repeat, train)
    args.block = min(seconds, key=seconds.get)
    torch.cuda.reset_peak_memory_stats()
    measure(args, data)


def trainer(args, data, block):
    def train():
        if args.method == "autograd":
            return autograd(data, args.regime, args.trigger, args.eta, args.lead, args.threads)
        if args.regime == "exact":
            return tuned_exact(data, args.trigger, args.eta, args.lead, args.threads, block)
        return tuned_infinitesimal(data, args.trigger, args.lead, args.threads, block)

    return train


def measure(args, data):
    train = trainer(args, data, args.block)
    before = resident()
    seconds, (m1, w1, m2) = best_of(args.repeat, train)
    peak = peak_resident()

    products = None
    if args.method == "tuned" and args.device == "cpu":
        products = 0.0
        if args.regime == "exact":
            # The first run also allocates memory, so more than one is timed.
            products, _ = best_of(max(args.repeat, 3), product_work(data, args.threads, args.block))

    if args.export:
        save_file({"m1": m1.contiguous(), "w1": w1.contiguous(), "m2": m2.contiguous()}, args.export)
    record = {
        "method": args.method,
        "regime": args.regime,
        "train_seconds": seconds,
        "peak_bytes": peak - before,
        "peak_total_bytes": peak,
        "product_seconds": products,  # null for autograd and on a GPU, 0 where there are none
        "torch": torch.__version__,
    }
    print(json.dumps(record))


if __name__ == "__main__":
    main()
