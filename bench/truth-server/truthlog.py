"""Reads truthd's binary log and derives the true latencies from it."""

import struct

import numpy as np

REC = struct.Struct("<QQQQQQIIIIIIIIQ64s")
F_STREAM, F_ABORT, F_USAGE, F_BLOCKED, F_DONE = 1, 2, 4, 8, 16
NAMES = ("seq", "t_arrive", "t_read", "t_head", "t_role", "t_end", "n_chunks", "n_sent", "tpc", "flags")
NAMES += ("blocked", "conn", "body_bytes", "pad", "late_max", "xid")


def read(path):
    with open(path, "rb") as f:
        buf = f.read()
    magic, size, _ver, n = struct.unpack_from("<8sIIQ", buf, 0)
    if magic != b"TRUTHLG1" or size != REC.size:
        raise ValueError(f"{path}: not a log of truthd (starts with {magic!r}, records of {size} bytes)")
    off, out = 24, []
    for _ in range(n):
        d = dict(zip(NAMES, REC.unpack_from(buf, off)))
        off += size
        k = d["n_sent"]
        d["tok"] = np.frombuffer(buf, "<u8", k, off)
        off += 8 * k
        d["xid"] = d["xid"].rstrip(b"\0").decode("latin1")
        out.append(d)
    return out


def pct(a, qs=(50, 90, 99)):
    a = np.asarray(a, float)
    if not a.size:
        return {}
    v = np.percentile(a, qs)
    return {f"p{q}": round(float(x), 4) for q, x in zip(qs, v)} | {"mean": round(float(a.mean()), 4)}


def truth(recs, tokens):
    """Truth over the answers that were streamed to the end with `tokens` tokens."""
    ok = [r for r in recs if r["flags"] & F_STREAM and r["flags"] & F_DONE and r["n_sent"] == tokens]
    res = {
        "requests_ok": len(ok),
        "requests_all": len(recs),
        "aborted": sum(bool(r["flags"] & F_ABORT) for r in recs),
        "blocked_events": int(sum(r["blocked"] for r in ok)),
    }
    if not ok:
        return res
    t0 = min(r["t_arrive"] or r["t_read"] for r in ok)
    t1 = max(r["t_end"] for r in ok)
    start = [r["t_arrive"] or r["t_read"] for r in ok]
    res |= {
        "t0": t0,
        "t1": t1,
        "wall_s": (t1 - t0) / 1e9,
        "events": len(ok) * tokens,
        "events_s": len(ok) * tokens / ((t1 - t0) / 1e9),
        "req_s": len(ok) / ((t1 - t0) / 1e9),
        "ttft_ms": pct([(int(r["tok"][0]) - s) / 1e6 for r, s in zip(ok, start)]),
        "e2e_ms": pct([(int(r["tok"][-1]) - s) / 1e6 for r, s in zip(ok, start)]),
        "read_delay_ms": pct([(r["t_read"] - s) / 1e6 for r, s in zip(ok, start)]),
    }
    if tokens > 1:
        res["tpot_ms"] = pct([(int(r["tok"][-1]) - int(r["tok"][0])) / 1e6 / (tokens - 1) for r in ok])
        res["itl_ms"] = pct(np.concatenate([np.diff(r["tok"].astype(np.int64)) for r in ok]) / 1e6)
    # middle half of the run by time: the rate without ramp-up and drain
    allt = np.sort(np.concatenate([r["tok"] for r in ok]).astype(np.int64))
    a, b = t0 + (t1 - t0) // 4, t1 - (t1 - t0) // 4
    res["mid_events_s"] = float(((allt >= a) & (allt < b)).sum() / ((b - a) / 1e9))
    # most answers under way at once
    ev = sorted([(s, 1) for s in start] + [(r["t_end"], -1) for r in ok])
    cur = mx = 0
    for _, d in ev:
        cur += d
        mx = max(mx, cur)
    res["peak_inflight"] = mx
    return res
