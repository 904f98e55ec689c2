//! The draft: a tree of candidate tokens hanging off the newest sampled token, the *root*.
//!
//! Nodes are stored in topological order, a parent before its children and siblings in the order they
//! were drawn, which is the order they are tested in.

use std::rc::Rc;

use crate::dist::{Dist, TokenId};

/// Index of a node in its [`TokenTree`]; the root is node 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub usize);

/// How a candidate came about, which fixes the drafter's side of the acceptance test.
#[derive(Clone, Debug)]
pub enum Proposal {
    /// Drawn from the drafter's distribution, without replacement among siblings.
    Sampled {
        /// The drafter's full distribution `p` at the parent.
        distribution: Rc<Dist>,
        /// `pc_i = p[x_i] / (1 - sum of earlier siblings)`: the probability it was drawn with.
        conditional: f32,
    },
    /// Picked deterministically (top-k): the proposal distribution is a point mass on the token.
    Chosen,
    /// The root itself, which nobody tests.
    Root,
}

/// One token of the tree.
#[derive(Clone, Debug)]
pub struct Node {
    /// The candidate token.
    pub token: TokenId,
    /// The node it would follow; `None` for the root.
    pub parent: Option<NodeId>,
    /// Distance from the root, which has depth 0.
    pub depth: usize,
    /// How it was drafted.
    pub proposal: Proposal,
}

/// A tree of candidates below the newest sampled token.
#[derive(Clone, Debug)]
pub struct TokenTree {
    // Invariant: node 0 is the only one without a parent; every other parent has a lower index.
    nodes: Vec<Node>,
}

impl TokenTree {
    /// The newest sampled token, whose keys and values the target does not hold yet.
    pub const ROOT: NodeId = NodeId(0);

    /// The tree without any draft: verifying it is one autoregressive step.
    #[must_use]
    pub fn new(root: TokenId) -> Self {
        Self { nodes: vec![Node { token: root, parent: None, depth: 0, proposal: Proposal::Root }] }
    }

    /// Appends a candidate below `parent`, after the siblings already there.
    ///
    /// # Panics
    /// If `parent` is not in the tree, or the proposal is [`Proposal::Root`].
    pub fn push(&mut self, parent: NodeId, token: TokenId, proposal: Proposal) -> NodeId {
        assert!(!matches!(proposal, Proposal::Root), "a tree has one root");
        let depth = self[parent].depth + 1;
        self.nodes.push(Node { token, parent: Some(parent), depth, proposal });
        NodeId(self.nodes.len() - 1)
    }

    /// Number of nodes, the root included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Never true: a tree has its root.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Number of candidates, the root excluded.
    #[must_use]
    pub fn n_drafts(&self) -> usize {
        self.nodes.len() - 1
    }

    /// All nodes, in topological order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + use<> {
        (0..self.nodes.len()).map(NodeId)
    }

    /// Children of `parent` in the order they were drafted.
    pub fn children(&self, parent: NodeId) -> impl Iterator<Item = NodeId> {
        let after = self.nodes.iter().enumerate().skip(parent.0 + 1);
        after.filter(move |(_, node)| node.parent == Some(parent)).map(|(idx, _)| NodeId(idx))
    }

    /// Candidates from depth 1 down to `node` itself; empty for the root.
    #[must_use]
    pub fn path_to(&self, node: NodeId) -> Vec<NodeId> {
        let upwards = std::iter::successors(Some(node), |&id| self[id].parent);
        let mut path: Vec<NodeId> = upwards.filter(|&id| id != Self::ROOT).collect();
        path.reverse();
        path
    }

    /// Candidates without children, in topological order; the root is none.
    #[must_use]
    pub fn leaves(&self) -> Vec<NodeId> {
        let is_leaf = |&id: &NodeId| id != Self::ROOT && self.children(id).next().is_none();
        self.ids().filter(is_leaf).collect()
    }

    /// Depth of the deepest node; 0 if nothing was drafted.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.nodes.iter().map(|node| node.depth).max().expect("a tree has its root")
    }
}

impl std::ops::Index<NodeId> for TokenTree {
    type Output = Node;

    fn index(&self, id: NodeId) -> &Node {
        &self.nodes[id.0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fork() -> TokenTree {
        let mut tree = TokenTree::new(TokenId(9));
        let a = tree.push(TokenTree::ROOT, TokenId(1), Proposal::Chosen);
        tree.push(TokenTree::ROOT, TokenId(2), Proposal::Chosen);
        let c = tree.push(a, TokenId(3), Proposal::Chosen);
        tree.push(c, TokenId(4), Proposal::Chosen);
        tree
    }

    #[test]
    fn children_come_in_drafting_order() {
        let tree = fork();
        assert_eq!(tree.children(TokenTree::ROOT).collect::<Vec<_>>(), [NodeId(1), NodeId(2)]);
        assert_eq!(tree.children(NodeId(2)).count(), 0);
    }

    #[test]
    fn a_path_runs_from_below_the_root_to_the_node() {
        let tree = fork();
        assert_eq!(tree.path_to(NodeId(4)), [NodeId(1), NodeId(3), NodeId(4)]);
        assert_eq!(tree.path_to(TokenTree::ROOT), []);
    }

    #[test]
    fn counts_exclude_the_root_where_they_say_so() {
        let tree = fork();
        assert_eq!((tree.len(), tree.n_drafts(), tree.depth()), (5, 4, 3));
        assert_eq!(tree.leaves(), [NodeId(2), NodeId(4)]);
        let bare = TokenTree::new(TokenId(0));
        assert_eq!((bare.len(), bare.n_drafts(), bare.depth(), bare.leaves().len()), (1, 0, 0, 0));
        assert!(!tree.is_empty() && !bare.is_empty(), "both have their root");
    }
}
