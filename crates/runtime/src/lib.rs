//! The living program: isolate, fibers, classes, connections.
