//! The relaxed rules written a second time, straight from their pseudo-code, in dense f64 rows: what the
//! library is compared with token by token, and what distributions are enumerated from.

use std::rc::Rc;

use specimen_decode::{
    dist::TokenId,
    methods::{
        cascade::{
            BudgetScope, CascadeConfig, CascadeResidual, Charge, ConvergenceMass, ConvergencePairs, Dedupe,
            Threshold,
        },
        lantern::{Bound, Residual},
    },
    tree::NodeId,
    vectors::{Neighbours, TokenVectors},
};

use crate::{
    rates::wide,
    reference::{Asked, Claim, Plain, Rules},
};

/// LANTERN and LANTERN++.
pub(crate) struct Lantern {
    pub(crate) nearest: Rc<Neighbours>,
    pub(crate) k: usize,
    pub(crate) bound: Bound,
    pub(crate) residual: Residual,
}

impl Lantern {
    /// Lenders and what they lend together.
    pub(crate) fn lent(&self, g: &[f64], x: usize) -> (Vec<usize>, f64) {
        let limit = match self.bound {
            Bound::Absolute(delta) => delta,
            Bound::Relative(lambda) => (lambda - 1.0) * g[x],
        };
        let mut lenders = Vec::new();
        let mut sum = 0.0;
        for y in self.near(x, self.k) {
            if sum + g[y] > limit {
                break;
            }
            sum += g[y];
            lenders.push(y);
        }
        (lenders, sum)
    }

    fn near(&self, x: usize, k: usize) -> Vec<usize> {
        self.nearest.of(TokenId(x as u32), k).iter().map(|token| token.idx()).collect()
    }
}

impl Rules for Lantern {
    fn claim(&mut self, asked: &Asked<'_>) -> Claim {
        let (lenders, sum) = self.lent(asked.g, asked.x);
        let plain = Plain.claim(asked);
        let zeroed = if lenders.is_empty() { Vec::new() } else { self.near(asked.x, self.k + 1) };
        let (gone, spared) = match self.residual {
            Residual::Paper => (lenders, Vec::new()),
            Residual::Vanilla => (Vec::new(), Vec::new()),
            Residual::Refcode if asked.is_chosen => (zeroed, Vec::new()),
            Residual::Refcode => (Vec::new(), zeroed),
        };
        Claim { target: plain.target + sum, gone, spared, ..plain }
    }
}

/// GSD, its clusters taken from a full sort.
pub(crate) struct Gsd {
    pub(crate) group: usize,
    pub(crate) delta_p: f64,
    pub(crate) d_thr: f64,
    pub(crate) embeddings: TokenVectors,
}

impl Rules for Gsd {
    fn claim(&mut self, asked: &Asked<'_>) -> Claim {
        let &Asked { g, d, x, .. } = asked;
        let mut ranked: Vec<usize> = (0..g.len()).filter(|&v| g[v] > 0.0).collect();
        ranked.sort_by(|&a, &b| g[b].total_cmp(&g[a]).then(a.cmp(&b)));
        let Some(rank) = ranked.iter().position(|&v| v == x) else { return Plain.claim(asked) };
        let lo = rank as i64 - (self.group / 2) as i64;
        let lo = lo.min(ranked.len() as i64 - self.group as i64).max(0) as usize;
        let hi = (lo + self.group).min(ranked.len());
        let distance = |v: usize| self.embeddings.squared_distance(TokenId(v as u32), TokenId(x as u32));
        let similar = |&&v: &&usize| (g[v] - g[x]).abs() < self.delta_p && distance(v) < self.d_thr;
        let cluster: Vec<usize> = ranked[lo..hi].iter().filter(similar).copied().collect();
        let total = |distribution: &[f64]| cluster.iter().map(|&v| distribution[v]).sum();
        Claim { target: total(g), draft: total(d), ..Plain.claim(asked) }
    }
}

/// CASCADE over another rule.
pub(crate) struct Cascade {
    pub(crate) inner: Box<dyn Rules>,
    pub(crate) config: CascadeConfig,
    /// Charged since the scope began, and since the image began.
    pub(crate) spent: f64,
    pub(crate) spent_in_image: f64,
    level: Option<NodeId>,
    last: (f64, f64, f64),
}

impl Cascade {
    pub(crate) fn new(inner: Box<dyn Rules>, config: CascadeConfig) -> Self {
        Self { inner, config, spent: 0.0, spent_in_image: 0.0, level: None, last: (0.0, 0.0, 0.0) }
    }

    fn agree(&self, asked: &Asked<'_>, other: NodeId, tau: f64) -> bool {
        let (a, b) = (asked.scores.feature(asked.child), asked.scores.feature(other));
        let (mut ab, mut aa, mut bb) = (0.0, 0.0, 0.0);
        for i in 0..a.len() {
            let (a, b) = (f64::from(a[i]), f64::from(b[i]));
            (ab, aa, bb) = (ab + a * b, aa + a * a, bb + b * b);
        }
        let cosine = ab / (aa.sqrt() * bb.sqrt());
        if self.config.threshold == Threshold::Above { cosine > tau } else { cosine >= tau }
    }
}

impl Rules for Cascade {
    fn begin_image(&mut self) {
        (self.spent, self.spent_in_image) = (0.0, 0.0);
        self.inner.begin_image();
    }

    fn begin(&mut self) {
        self.level = None;
        if self.config.budget_scope == BudgetScope::Verification {
            self.spent = 0.0;
        }
        self.inner.begin();
    }

    fn claim(&mut self, asked: &Asked<'_>) -> Claim {
        let Asked { g, x, tree, child, parent, scores, .. } = *asked;
        if self.config.budget_scope == BudgetScope::Level && self.level != Some(parent) {
            self.spent = 0.0;
        }
        self.level = Some(parent);
        let mut claim = self.inner.claim(asked);
        let without = claim.target;
        let nodes = || tree.ids().skip(1);
        let mut in_i: Vec<NodeId> = Vec::new();
        if let Some(tau) = self.config.tau_pos {
            let siblings = nodes().filter(|&y| tree[y].parent == Some(parent) && y != child);
            in_i.extend(siblings.filter(|&y| self.agree(asked, y, tau)));
        }
        let mut in_c: Vec<NodeId> = Vec::new();
        if let Some(tau) = self.config.tau_seq {
            let deeper = nodes().filter(|&z| match self.config.convergence_pairs {
                ConvergencePairs::Children => tree[z].parent == Some(child),
                ConvergencePairs::AllNextLevel => tree[z].depth == tree[child].depth + 1,
            });
            in_c.extend(deeper.filter(|&z| self.agree(asked, z, tau)));
        }
        let next_level = self.config.convergence_mass == ConvergenceMass::NextLevel;
        let after = if next_level && !in_c.is_empty() { wide(&scores.dist(child)) } else { g.to_vec() };
        let mut seen = vec![x];
        let mut moved = 0.0;
        for (set, distribution) in [(in_i, g), (in_c, after.as_slice())] {
            let mut ids: Vec<usize> = set.iter().map(|&node| tree[node].token.idx()).collect();
            if self.config.dedupe == Dedupe::Strict {
                let all = std::mem::take(&mut ids);
                for id in all {
                    if !seen.contains(&id) && !ids.contains(&id) {
                        ids.push(id);
                    }
                }
            }
            let m: f64 = ids.iter().map(|&id| distribution[id]).sum();
            if self.spent + moved + m <= self.config.tvd_budget {
                moved += m;
                seen.extend(&ids);
                if self.config.residual == CascadeResidual::ZeroUsed {
                    claim.gone.extend(ids.into_iter().filter(|&id| 0.0 < distribution[id]));
                }
            }
        }
        claim.target += moved;
        self.last = (moved, without, claim.draft);
        if self.config.charge == Charge::Always {
            self.spent += moved;
            self.spent_in_image += moved;
        }
        claim
    }

    fn tested(&mut self, r: f64, accepted: bool) {
        let (moved, without, draft) = self.last;
        if self.config.charge == Charge::IfUsed && accepted && without <= r * draft {
            self.spent += moved;
            self.spent_in_image += moved;
        }
        self.inner.tested(r, accepted);
    }
}
