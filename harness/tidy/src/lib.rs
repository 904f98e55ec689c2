//! The rules of the workspace that no compiler checks, as functions from files to complaints.
//!
//! Read in this order: [`workspace`] (what is looked at), [`graph`] (who may use whom), [`sources`] (shape of a
//! source file), [`words`] (what no file may say), [`registry`] (nothing lies unused beside its registry),
//! [`docs`] (documents in step with the manifests), [`links`] and [`pages`] (documents among themselves), [`budget`]
//! (what is committed), [`features`] (nothing is built twice) and [`notices`] (what the
//! program is made of is named). A complaint is one line:
//! the file, what is expected, what to do. The crate's tests run every rule over this checkout.

pub mod workspace;

pub mod graph;

pub mod sources;

pub mod words;

pub mod registry;

pub mod docs;

pub mod links;
pub mod pages;

pub mod budget;

pub mod features;
pub mod notices;
