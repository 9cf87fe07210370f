//! Redis and NATS as stores and streams: how several machines share state and changes.
