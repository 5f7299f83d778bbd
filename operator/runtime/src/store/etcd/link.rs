//! The connection to Calico's etcd, shared by what follows it and what writes to it.

use std::sync::{Arc, Mutex, PoisonError};

use tonic::transport::Channel;

#[derive(Clone)]
pub struct Link {
    /// What all keys of Calico begin with.
    pub prefix: String,
    channel: Arc<Mutex<Option<Channel>>>,
}

impl Link {
    pub fn new(prefix: &str) -> Self {
        Self {
            prefix: prefix.to_owned(),
            channel: Arc::default(),
        }
    }

    /// `None` while there is no connection.
    pub fn channel(&self) -> Option<Channel> {
        self.channel
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub fn set(&self, channel: Option<Channel>) {
        *self.channel.lock().unwrap_or_else(PoisonError::into_inner) = channel;
    }
}
