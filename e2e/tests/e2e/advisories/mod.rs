//! What limits Windows nodes is told, once, and is never a reason not to be ready.

mod limits;
mod observe;
mod reservation;
mod support;
