//! Objects that make pods or limit them, reduced to the fields that are used. Fields have the meaning of the API.

use serde::Deserialize;

use super::kubernetes::{self, LabelSelector, OwnerReference, Texts};
use super::number_or_text::NumberOrText;
use super::pod::{PodTemplate, Toleration};

/// A kind of object with a template of pods.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum WorkloadKind {
    Deployment,
    StatefulSet,
    DaemonSet,
    ReplicaSet,
    ReplicationController,
    Job,
    CronJob,
}

impl WorkloadKind {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::Deployment,
        Self::StatefulSet,
        Self::DaemonSet,
        Self::ReplicaSet,
        Self::ReplicationController,
        Self::Job,
        Self::CronJob,
    ];

    /// The object's `kind`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deployment => "Deployment",
            Self::StatefulSet => "StatefulSet",
            Self::DaemonSet => "DaemonSet",
            Self::ReplicaSet => "ReplicaSet",
            Self::ReplicationController => "ReplicationController",
            Self::Job => "Job",
            Self::CronJob => "CronJob",
        }
    }

    /// The API group of the kind.
    pub const fn group(self) -> &'static str {
        match self {
            Self::Deployment | Self::StatefulSet | Self::DaemonSet | Self::ReplicaSet => "apps",
            Self::ReplicationController => "",
            Self::Job | Self::CronJob => "batch",
        }
    }

    /// Path of the spec of the pods.
    pub const fn pod_spec(self) -> &'static str {
        match self {
            Self::CronJob => "spec.jobTemplate.spec.template.spec",
            Self::Deployment
            | Self::StatefulSet
            | Self::DaemonSet
            | Self::ReplicaSet
            | Self::ReplicationController
            | Self::Job => "spec.template.spec",
        }
    }
}

/// An object of such a kind.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Workload {
    pub metadata: WorkloadMetadata,
    pub spec: WorkloadSpec,
}

/// Metadata of such an object.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct WorkloadMetadata {
    #[serde(rename = "ownerReferences", deserialize_with = "kubernetes::controller")]
    pub controller: Option<OwnerReference>,
}

impl Workload {
    /// The template of the pods.
    pub const fn template(&self) -> &PodTemplate {
        match &self.spec.job_template {
            Some(job) => &job.spec.template,
            None => &self.spec.template,
        }
    }
}

/// Spec of such an object.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct WorkloadSpec {
    pub replicas: Option<i64>,
    pub template: PodTemplate,
    /// Set for a `CronJob`.
    pub job_template: Option<JobTemplate>,
}

/// Template of the jobs of a `CronJob`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct JobTemplate {
    pub spec: JobSpec,
}

/// Spec of a job.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct JobSpec {
    pub template: PodTemplate,
}

/// A `PodDisruptionBudget`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct DisruptionBudget {
    pub spec: DisruptionBudgetSpec,
}

/// Spec of a disruption budget.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct DisruptionBudgetSpec {
    pub selector: Option<LabelSelector>,
    pub min_available: Option<NumberOrText>,
    pub max_unavailable: Option<NumberOrText>,
}

/// A `RuntimeClass`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct RuntimeClass {
    pub scheduling: Scheduling,
}

/// What a runtime class adds to its pods.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct Scheduling {
    pub node_selector: Texts,
    pub tolerations: Vec<Toleration>,
}
