//! Computes the ACLs that Felix's Windows dataplane programs in HNS (felix/dataplane/windows of
//! projectcalico/calico).

mod acl;
mod endpoint;
mod flatten;
mod rules;

pub use acl::{Acl, AclAction, Addresses, Ports, RuleType};
pub use endpoint::{Acls, MISSING_POLICY_SET, PolicySets, allow_from_node, of_class};
pub use flatten::Panic;
pub use rules::{Lost, Reason, of_rule};
