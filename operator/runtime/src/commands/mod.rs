//! Commands that look at files and print; none needs a cluster.

pub mod acls;
mod files;
mod print;
