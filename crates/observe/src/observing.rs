//! The observation of one server, from start to stop.

use crate::admin::pages::{self, AdminPage, ContributedPage};
use crate::admin::port;
use crate::admin::readiness::Readiness;
use crate::log::writer::LogWriter;
use crate::metrics::loop_lag::{Pulse, probe};
use crate::metrics::recorder::Recorder;
use crate::metrics::registry::Registry;
use crate::server_observer::{RefusalRate, ServerObserver};
use crate::settings::{ListenerOf, ObserveSettings, Sampler, WriterOf};
use crate::traces::exporter::Exporter;
use runnel_http::{HttpServer, Observer};
use runnel_store::{Result, Store};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::task::JoinHandle;

/// How long stopping waits for readers of the admin port.
const PATIENCE: Duration = Duration::from_secs(1);

/// What the embedding command provides.
pub struct Surroundings {
    /// Opens standard output and error for the log.
    pub writer: WriterOf,
    /// Samples the program's engine.
    pub sampler: Option<Sampler>,
    /// Inherited sockets.
    pub listener: ListenerOf,
}

/// The observation of one server. Dropping it frees the admin port.
pub struct Observing {
    server_observer: Rc<ServerObserver>,
    registry: Arc<Registry>,
    readiness: Rc<Readiness>,
    admin: RefCell<Option<HttpServer>>,
    /// The pages of this server at the admin port.
    pages: RefCell<Vec<Rc<ContributedPage>>>,
    probe: JoinHandle<()>,
}

/// Starts observing a server. The first server of a process with an admin address serves that
/// address; others, also those of other workers, add their metrics to it.
///
/// Must be called on the event loop of the server.
///
/// # Errors
/// Those of [`runnel_http::serve`] for the admin port, and those of opening a log.
pub async fn observe(settings: &ObserveSettings, surroundings: Surroundings) -> Result<Observing> {
    let registry = Registry::of(settings.admin);
    let log = match settings.access_log {
        Some(format) => Some((format, LogWriter::of(&settings.log_target, surroundings.writer)?)),
        None => None,
    };
    let readiness = Rc::new(Readiness::default());
    let admin = match settings.admin {
        Some(address) if !registry.is_served.swap(true, Relaxed) => {
            let served = match (surroundings.listener)(address) {
                Ok(listener) => {
                    let (registry, readiness) = (registry.clone(), readiness.clone());
                    port::serve(address, settings, listener, registry, readiness).await
                }
                Err(error) => Err(error),
            };
            if served.is_err() {
                registry.is_served.store(false, Relaxed);
            }
            Some(served?)
        }
        _ => None,
    };
    registry.draining.store(false, Relaxed);
    let numbers = registry.join();
    let exporter = settings.traces.clone().map(|traces| Exporter::start(traces, numbers.clone()));
    let pulse = Rc::new(Pulse::default());
    let server_observer = Rc::new(ServerObserver {
        recorder: Recorder::new(numbers.clone()),
        counts: settings.admin.is_some(),
        names: settings.request_ids || log.is_some() || exporter.is_some(),
        pulse: pulse.clone(),
        log,
        exporter: exporter.map(Rc::new),
        refusals: RefusalRate::default(),
        line: RefCell::default(),
    });
    let probe = tokio::task::spawn_local(probe(pulse, numbers, surroundings.sampler));
    let (admin, pages) = (RefCell::new(admin), RefCell::default());
    Ok(Observing { server_observer, registry, readiness, admin, pages, probe })
}

impl Observing {
    /// The observer for the server.
    pub fn observer(&self) -> Rc<dyn Observer> {
        self.server_observer.clone()
    }

    /// The admin port, if this server serves it.
    pub fn admin_port(&self) -> Option<u16> {
        self.admin.borrow().as_ref().map(HttpServer::port)
    }

    /// Adds a readiness check: `/readyz` reports ready when a get of every check succeeds within 2
    /// s.
    ///
    /// # Errors
    /// [`runnel_store::Kind::TooLarge`]: there are too many.
    pub fn check(&self, name: &str, check: Rc<dyn Store>) -> Result<()> {
        self.readiness.add(name, check)
    }

    /// Adds a page of this server to the admin port, until the server has ended.
    ///
    /// # Errors
    /// [`runnel_store::Kind::TooLarge`]: there are too many.
    pub fn add_page(&self, page: AdminPage) -> Result<()> {
        let kept = pages::add(&self.registry, page)?;
        self.pages.borrow_mut().push(kept);
        Ok(())
    }

    /// Marks the server as stopping: it is not ready from now on.
    pub fn drain(&self) {
        self.registry.draining.store(true, Relaxed);
    }

    /// Exports the last spans and frees the admin port after the server has stopped.
    pub async fn end(&self) {
        if let Some(exporter) = self.server_observer.exporter.clone() {
            exporter.end().await;
        }
        if let Some((_, writer)) = &self.server_observer.log {
            writer.flush();
        }
        self.pages.take();
        let admin = self.admin.take();
        if let Some(admin) = admin {
            admin.stop(PATIENCE).await;
            self.registry.is_served.store(false, Relaxed);
        }
    }
}

impl Drop for Observing {
    fn drop(&mut self) {
        self.probe.abort();
        self.registry.leave(self.server_observer.recorder.numbers());
        if self.admin.take().is_some() {
            self.registry.is_served.store(false, Relaxed);
        }
    }
}
