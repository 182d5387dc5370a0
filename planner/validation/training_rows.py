"""Rows of a training file as columns of a `DistributedPlan`: the row's shape, layout, network and software."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from planner.validation import training_text as text
from solvers.catalog import CatalogError
from solvers.faces.distributed import TRAINED, DistributedModel, DistributedPlan
from solvers.formulas.training.constants import TrainingConstants
from solvers.formulas.training.memory import OPTIMIZERS, RECOMPUTE
from solvers.lowering.architecture import architecture_row
from solvers.lowering.device import device_row
from solvers.lowering.training import generation_of, training_row
from solvers.records import WORK_UNITS, Architecture, Device, Fleet

Array = Any


@dataclass(frozen=True)
class Run:
    """What the rows describe."""

    plan: DistributedPlan
    metric: np.ndarray
    refusal: np.ndarray
    memory_measured: np.ndarray
    counts_all_attention: np.ndarray
    hardware_flops: np.ndarray
    lora: np.ndarray
    mfu_peak: np.ndarray
    error_class: list[str]
    hardware: list[Any]
    precision: list[Any]


def read_runs(frame: pd.DataFrame, catalog: Any) -> Run:
    """The frame's rows as one plan of columns."""
    rows = _Rows(frame, catalog)
    return rows.run()


class _Rows:
    """The rows of one file, with blanks filled by documented assumptions."""

    def __init__(self, frame: pd.DataFrame, catalog: Any) -> None:
        self.frame, self.catalog = frame, catalog
        self.count = len(frame)
        self.refusal = np.full(self.count, "", dtype=object)
        self.words = [
            " ".join(str(v) for v in (r.software, r.source, r.family, r.notes) if isinstance(v, str))
            for r in frame[["software", "source", "family", "notes"]].itertuples()
        ]
        self.hardware = [self._find("hardware", name) for name in frame["hardware"]]
        stated = zip(frame["precision"], frame["software"], strict=True)
        self.precision = [self._first("precision", text.precision_words(p, s)) for p, s in stated]
        self.fp16 = np.array(["fp16" in str(p) for p in frame["precision"]])
        self._refuse([h is None for h in self.hardware], [f"the hardware {n} is not known" for n in frame["hardware"]])
        self._refuse(
            [p is None for p in self.precision], [f"the precision {n} is not known" for n in frame["precision"]]
        )
        spare, half = catalog.find("hardware", "H100-SXM"), catalog.find("precision", "bf16")
        self.hardware = [h or spare for h in self.hardware]
        self.precision = [p or half for p in self.precision]

    def number(self, name: str, blank: Any = np.nan) -> np.ndarray:
        """A column, with its blanks filled."""
        values = self.frame[name].to_numpy(float)
        return np.where(np.isnan(values), blank, values)

    def says(self, pattern: Any) -> np.ndarray:
        """Rows whose software, source or notes match."""
        return np.array([bool(pattern.search(t)) for t in self.words])

    def run(self) -> Run:
        model = self._architecture()
        device = self._table(Device, device_row)
        constants = self._table(TrainingConstants, training_row)
        old, portable, xla = self.says(text.OLD), self.says(text.PORTABLE), self.says(text.XLA)
        lora = self._task("lora")
        n = self._accelerators()
        layout = self._layout(model, n, old)
        fleet = self._fleet(device, n)
        engine = np.array([str(p) for p in self.frame["precision"]])
        encoder = model.encoder_layers > 0
        plain_xla = xla & (np.char.find(engine.astype(str), "TE") < 0) & ~self.says(text.MAXTEXT)
        kernel = np.where(old, 2, np.where(portable | plain_xla | encoder, 1, 0))
        kernel = np.where(model.layers < 1, 0, kernel)
        zero = layout["zero_stage"]
        gradient = np.where(self.fp16 | (zero >= 3) | self.says(text.NEMO), 0, 1)
        shard = np.where(self.says(text.HYBRID), self._hybrid(device, fleet), np.nan)
        recompute = self._recompute(old, model)
        sgd = model.layers < 1
        given_sp = self.number("sequence_parallel")
        sequence_parallel = np.where(np.isnan(given_sp), ~old, given_sp > 0)
        plan = DistributedPlan(
            model=model, device=device, fleet=fleet, constants=constants,
            batch_size=layout["batch_size"], seq_len=layout["seq_len"], microbatch_size=layout["microbatch_size"],
            tp_size=layout["tp_size"], pp_size=layout["pp_size"], dp_size=layout["dp_size"], cp_size=layout["cp_size"],
            ep_size=layout["ep_size"], v_stages=layout["v_stages"], zero_stage=zero, shard_size=shard,
            sequence_parallel=sequence_parallel.astype(bool), recompute=recompute, attention_kernel=kernel,
            gradient_precision=gradient, optimizer=np.where(sgd, OPTIMIZERS.index("sgd"), 0),
            trained=np.where(lora, TRAINED.index("lora"), 0), lora_rank=self._ones(16.0), data_overlap=~old,
            balanced_stages=self.says(text.BALANCED), bucket_size=np.where(self.says(text.DDP), text.BUCKET, np.nan),
            expert_imbalance=np.where(self.says(text.BALANCED_EXPERTS), 1.0, 1.1),
            routed_nodes=self._ones(np.nan), efficiency=self._ones(np.nan), run_tokens=self._ones(np.nan),
            run_samples=self._ones(np.nan),
            checkpoint_time=self._ones(30.0), checkpoint_interval=self._ones(np.nan), restart_time=self._ones(600.0),
        )  # fmt: skip
        unpublished = self.frame["recompute"].isna().to_numpy() & (model.layers >= 1)
        if "ran_out" in self.frame:  # what ran out of memory did not choose what fits
            unpublished &= ~self.frame["ran_out"].to_numpy(bool)
        plan = _least_recompute(plan, unpublished)
        memory = (
            pd.to_numeric(self.frame["mem_gb_measured"], errors="coerce").to_numpy(float) * 1e9
            if "mem_gb_measured" in self.frame
            else self._ones(np.nan)
        )
        kinds = self.frame["tflops_kind"].astype(str).str.lower().to_numpy()
        metric = self.frame["metric"].astype(str).str.lower().to_numpy(object)
        recomputes = plan.recompute == RECOMPUTE.index("full")
        hardware_flops = (kinds == "hardware") & recomputes
        classes = self._classes(model, lora)
        return Run(
            plan=plan, metric=metric, refusal=self.refusal, memory_measured=memory,
            counts_all_attention=~self.says(text.CAUSAL_FLOPS), hardware_flops=hardware_flops, lora=lora,
            mfu_peak=device.peak_flops, error_class=classes, hardware=self.hardware, precision=self.precision,
        )  # fmt: skip

    def _ones(self, value: float) -> np.ndarray:
        return np.full(self.count, value)

    def _refuse(self, where: Any, why: list[str]) -> None:
        self.refusal = np.where(
            np.asarray(where, bool) & (self.refusal == ""), np.array(why, dtype=object), self.refusal
        )

    def _find(self, kind: str, name: Any) -> Any:
        try:
            return self.catalog.find(kind, str(name)) if isinstance(name, str) else None
        except CatalogError:
            return None

    def _first(self, kind: str, names: tuple[str, ...]) -> Any:
        return next((found for name in names if (found := self._find(kind, name)) is not None), None)

    def _task(self, word: str) -> np.ndarray:
        return self.frame["task"].astype(str).str.lower().str.contains(word).to_numpy()

    def _accelerators(self) -> np.ndarray:
        product = np.ones(self.count)
        for name in ("tp_size", "pp_size", "dp_size", "cp_size"):
            product = product * self.number(name, 1.0)
        laid_out = self.frame["tp_size"].notna().to_numpy()
        return np.maximum(self.number("n_gpus", np.where(laid_out, product, 256.0)), 1.0)

    def _table(self, record: type, row: Any) -> Any:
        """A record of columns, each distinct accelerator and precision lowered once."""
        made: dict[tuple[str, str], dict[str, float]] = {}
        keys = [(h.name, p.name) for h, p in zip(self.hardware, self.precision, strict=True)]
        for key, h, p in zip(keys, self.hardware, self.precision, strict=True):
            if key not in made:
                made[key] = dict(row(h, p))
        fields = [f.name for f in dataclasses.fields(record)]
        return record(**{f: np.array([float(made[k][f]) for k in keys]) for f in fields})

    def _architecture(self) -> Architecture:
        known: dict[str, Any] = {}
        fields = [f.name for f in dataclasses.fields(Architecture)]
        rows = []
        own = self.number("layers", 0) > 0
        for i, name in enumerate(self.frame["model"].astype(str)):
            if name not in known:
                entry = self._find("model", name)
                known[name] = None if entry is None else architecture_row(entry)
            if known[name] is None and not own[i]:
                self.refusal[i] = self.refusal[i] or f"the model {name} is not known, and the row gives no shape"
            rows.append(known[name] or dict.fromkeys(fields, 0.0))
        base = {f: np.array([r[f] for r in rows], float) for f in fields}
        return _shaped(base, self, own)

    def _layout(self, model: Architecture, n: np.ndarray, old: np.ndarray) -> dict[str, np.ndarray]:
        seq_len = self.number("seq_len", np.where(model.encoder_layers > 0, 512.0, 2048.0))
        tp, pp, cp = (np.maximum(self.number(name, 1.0), 1.0) for name in ("tp_size", "pp_size", "cp_size"))
        laid_out = ~np.isnan(self.number("tp_size"))
        ep = np.maximum(self.number("ep_size", 1.0), 1.0)
        ep = np.where(model.num_experts > 0, ep, 1.0)
        batch = self.number("global_batch_samples")
        dp = np.maximum(np.floor(n / (tp * pp * cp)), 1.0)
        shared = np.where((batch > 0) & (dp > batch), dp / np.maximum(batch, 1.0), 1.0)
        whole = shared == np.floor(shared)
        cp, dp = np.where(whole, cp * shared, cp), np.where(whole, dp / shared, dp)
        room = 2.0**25 / (np.maximum(model.hidden, 1.0) * seq_len)
        fits = 2.0 ** np.clip(np.floor(np.log2(np.maximum(room, 1.0))), 0.0, 7.0)
        fits = np.where(model.layers < 1, 128.0, fits)
        batch = np.where(np.isnan(batch), dp * self.number("micro_batch", fits), batch)
        each = np.maximum(batch / dp, 1.0)
        guess = np.where(np.remainder(each, fits) == 0, np.minimum(fits, each), 1.0)
        guess = np.where(pp > 1, np.minimum(guess, 1.0), guess)
        guess = np.where(model.layers < 1, each, guess)
        micro = np.minimum(self.number("micro_batch", guess), each)
        fsdp = self.says(text.FSDP) | ~laid_out
        zero = self.number("zero_stage", np.where(fsdp, 3.0, np.where(old, 0.0, 1.0)))
        per_stage = np.floor(np.maximum(model.layers, 1.0) / pp)
        v_blank = np.where((pp > 1) & ~old, np.clip(np.minimum(4.0, per_stage), 1.0, None), 1.0)
        v = self.number("v_stages", v_blank)
        v = np.where(pp > 1, np.minimum(v, np.maximum(per_stage, 1.0)), 1.0)
        return {
            "batch_size": batch, "seq_len": seq_len, "microbatch_size": micro, "tp_size": tp, "pp_size": pp,
            "dp_size": dp, "cp_size": cp, "ep_size": ep, "v_stages": v, "zero_stage": zero,
        }  # fmt: skip

    def _fleet(self, device: Device, n: np.ndarray) -> Fleet:
        per_node = np.maximum(self.number("gpus_per_node", 8.0), 1.0)
        network = self.frame["inter_node_network"].fillna("").astype(str)
        ethernet = np.array([bool(text.CLOUD_ETHERNET.search(t)) for t in network])
        ports = [self._network(i, per_node[i]) for i in range(self.count)]
        return Fleet(
            n_accelerators=n, accelerators_per_node=per_node, nic_bandwidth=np.array(ports),
            fabric_latency=np.where(ethernet, text.ETHERNET_LATENCY, text.INFINIBAND_LATENCY),
            oversubscription=self._ones(1.0), accelerator_mtbf=self._ones(1.8e8),
        )  # fmt: skip

    def _network(self, i: int, per_node: float) -> float:
        words = self.frame["inter_node_network"].iloc[i]
        default = text.DEFAULT_PORTS[generation_of(self.hardware[i])]
        return text.network_share(words if isinstance(words, str) else "", per_node, default)

    def _hybrid(self, device: Device, fleet: Fleet) -> np.ndarray:
        slices = np.array([text.slice_size(t) for t in self.words])
        return np.where(np.isnan(slices), np.minimum(device.link_domain, fleet.accelerators_per_node), slices)

    def _recompute(self, old: np.ndarray, model: Architecture) -> np.ndarray:
        words = self.frame["recompute"].astype(str).str.lower()
        full = words.str.contains("full|offload|uniform|block") & ~words.str.contains("selective")
        none = words.isin(["none", "no", "false", "0"])
        return np.where(
            full, RECOMPUTE.index("full"), np.where(none, RECOMPUTE.index("none"), RECOMPUTE.index("selective"))
        )

    def _classes(self, model: Architecture, lora: np.ndarray) -> list[str]:
        made = []
        for i in range(self.count):
            if model.layers[i] < 1:
                made.append("net")
            elif model.moe_layers[i] > 0:
                made.append("experts")
            elif model.encoder_layers[i] > 0:
                made.append("encoder")
            elif generation_of(self.hardware[i]) in ("ampere", "hopper", "volta"):
                made.append("dense")
            else:
                made.append("other")
        return made


def _least_recompute(plan: DistributedPlan, unpublished: np.ndarray) -> DistributedPlan:
    """Where recomputation is not published, or said to be selective without saying of what: the least that fits."""
    for name in ("experts", "full"):
        heavier = RECOMPUTE.index(name)
        answer = DistributedModel.columns(plan)
        tight = answer.memory_per_accelerator > plan.device.memory_capacity
        selective = (plan.recompute == RECOMPUTE.index("selective")) & (plan.model.moe_layers > 0) & (name == "experts")
        helps = (unpublished & ((name == "full") | (plan.model.moe_layers > 0))) | selective
        plan = dataclasses.replace(plan, recompute=np.where(tight & helps, heavier, plan.recompute))
    return plan


def _shaped(base: dict[str, np.ndarray], rows: _Rows, own: np.ndarray) -> Architecture:
    """The catalogue's shape, overridden by the row's."""

    def given(field: str, column: str, scale: float = 1.0) -> np.ndarray:
        values = rows.number(column)
        return np.where(np.isnan(values), base[field], values * scale)

    layers, hidden = given("layers", "layers"), given("hidden", "hidden")
    heads = given("heads", "heads")
    kv = rows.number("kv_heads", np.where(base["kv_heads"] > 0, base["kv_heads"], heads))
    head_dim = rows.number(
        "head_dim", np.where(base["head_dim"] > 0, base["head_dim"], hidden / np.maximum(heads, 1.0))
    )
    experts = np.nan_to_num(given("num_experts", "num_experts"))
    dense = rows.number("dense_layers", np.where(experts > 0, base["mlp_layers"], 0.0))
    hybrid = base["linear_layers"] > 0
    mla = base["mla"] > 0
    moe = np.where(hybrid, base["moe_layers"], np.where(experts > 0, layers - dense, 0.0))
    attn = rows.frame["attn"].astype(str).str.lower()
    bidirectional = (
        attn.str.contains("bidir").to_numpy() | rows.frame["task"].astype(str).str.contains("mlm").to_numpy()
    )
    known = base["layers"] > 0
    encoder = np.where(bidirectional, layers, np.where(known & ~own, base["encoder_layers"], 0.0))
    plain = own & ~hybrid & (base["sliding_layers"] < 1)
    inner, expert_width = given("ffn_hidden", "ffn_hidden"), np.nan_to_num(given("moe_ffn_hidden", "moe_ffn_hidden"))
    total = given("params_total", "params")
    active = np.where(base["params_active"] > 0, base["params_active"], total)
    gated = rows.number("gated_mlp", np.where(base["mlp_matrices"] > 2, 1.0, 0.0))
    changed = dict(base)
    is_net = (base["forward_flops"] > 0) & ~own
    changed.update(
        layers=np.where(is_net, 0.0, layers), hidden=hidden, heads=heads, kv_heads=kv,
        head_dim=np.where(mla, base["head_dim"], head_dim), v_head_dim=np.where(mla, base["v_head_dim"], head_dim),
        causal=np.where(bidirectional, 0.0, np.where(own, 1.0, base["causal"])),
        encoder_layers=encoder,
        attention_layers=np.where(is_net, 0.0, np.where(plain, layers, base["attention_layers"])),
        sliding_layers=np.where(plain, 0.0, base["sliding_layers"]),
        mlp_layers=np.where(hybrid, base["mlp_layers"], layers - moe),
        moe_layers=moe, ffn_hidden=inner, num_experts=experts,
        top_k=given("top_k", "top_k"), moe_ffn_hidden=np.where(expert_width > 0, expert_width, inner),
        shared_ffn_hidden=given("shared_ffn_hidden", "shared_expert_ffn"),
        mlp_matrices=np.where(gated > 0, 3.0, 2.0), vocab=given("vocab", "vocab"),
        tied_embeddings=given("tied_embeddings", "tied_embeddings"),
        params_total=total,
        params_active=rows.number("active_params", active),
        work_unit=np.where(bidirectional, WORK_UNITS.index("sequence"), base["work_unit"]),
        forward_flops=np.where(is_net, base["forward_flops"], 0.0),
        forward_traffic=np.where(is_net, base["forward_traffic"], 0.0),
    )  # fmt: skip
    return Architecture(**{k: np.nan_to_num(v, posinf=1e12) for k, v in changed.items()})
