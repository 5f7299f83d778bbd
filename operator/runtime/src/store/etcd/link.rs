//! The connection to Calico's etcd, shared by what follows it and what writes to it.

use std::sync::{Arc, Mutex, PoisonError};

use tonic::transport::Channel;

/// The connection to etcd, shared by the task that reads it and by writes.
#[derive(Clone)]
pub struct Link {
    /// What all keys of Calico begin with.
    pub prefix: String,
    channel: Arc<Mutex<Option<Channel>>>,
}

impl Link {
    /// Without a connection. `prefix`: first path element of Calico's keys.
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

    /// Sets the connection, or none.
    pub fn set(&self, channel: Option<Channel>) {
        *self.channel.lock().unwrap_or_else(PoisonError::into_inner) = channel;
    }
}
