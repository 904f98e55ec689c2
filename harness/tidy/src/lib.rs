//! The rules of the workspace that no compiler checks, as functions from files to complaints.
//!
//! Read in this order: [`workspace`] (what is looked at), [`graph`] (who may use whom), [`sources`] (shape of a
//! source file), [`registry`] (nothing lies unused beside its registry), [`links`] and [`pages`] (documents among
//! themselves). A complaint is one line: the file, what is expected, what to do. The crate's tests run every rule over
//! this checkout.

pub mod workspace;

pub mod graph;

pub mod sources;

pub mod registry;

pub mod links;
pub mod pages;
