//! Tests of the decisions, as one program, which links once.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

mod advice;
mod advice_facts;
mod bad_input;
mod bgp;
mod calico;
mod component_ownership;
mod detection;
mod etcd;
mod images;
mod kube_proxy;
mod lint;
mod network;
mod node;
mod originals;
mod ownership;
mod platforms;
mod pools;
mod powershell;
mod properties;
mod readers;
mod release;
mod restore;
mod selection;
mod selectors;
mod status;
mod tigera;
mod tigera_trouble;
mod workload;
