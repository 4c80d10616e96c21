//! How long a server is waited for.
//!
//! A server may be silent for ever: a statement sleeps, a process is stopped, a cable is cut. So nothing here waits
//! without looking up. Every wait is cut into [slices](SLICE), and between two slices a [`Patience`] is asked:
//!
//! ```text
//!   read ── nothing for a slice ──▶ was the work ended?   ── yes ──▶ ErrorKind::Interrupted
//!     ▲                             silent for too long?  ── yes ──▶ ErrorKind::TimedOut
//!     └──────────── no ─────────────────┘
//! ```
//!
//! A patience is a part of [`Settings`](crate::Settings): all connections that are opened with clones of them have the
//! same one. Without one, servers are waited for as long as it takes.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The longest time for which nobody looks up.
pub const SLICE: Duration = Duration::from_millis(20);

/// Why work was ended from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The user wants no more.
    Interrupt,
    /// The time is over.
    Time,
}

/// Asks whether the work was ended from outside.
type Ask = dyn Fn() -> Option<Ended> + Send + Sync;

/// How long a server is waited for. Clones share what ends them.
#[derive(Clone, Default)]
pub struct Patience {
    ask: Option<Arc<Ask>>,
    /// The end of the time does not count any more.
    released: Arc<AtomicBool>,
    /// Silence that is too long.
    silence_max: Option<Duration>,
    /// When everything has to be over.
    deadline: Option<Instant>,
}

impl Patience {
    /// Lasts until the work is ended from outside, which is asked several times in a second.
    pub fn until(ask: impl Fn() -> Option<Ended> + Send + Sync + 'static) -> Patience {
        Patience { ask: Some(Arc::new(ask)), ..Patience::default() }
    }

    /// Lasts so long from now, whatever is ended meanwhile: for clearing away.
    pub fn lasting(time: Duration) -> Patience {
        Patience { deadline: Some(Instant::now() + time), ..Patience::default() }
    }

    /// The same; a server that says nothing for so long is taken to be gone, if not after a shorter time.
    #[must_use]
    pub fn with_silence_max(self, silence_max: Duration) -> Patience {
        let shorter = self.silence_max.map_or(silence_max, |known| known.min(silence_max));
        Patience { silence_max: Some(shorter), ..self }
    }

    /// Silence that is too long, if there is such a thing.
    pub fn silence_max(&self) -> Option<Duration> {
        self.silence_max
    }

    /// The same for other work: what releases one does not release the other.
    #[must_use]
    pub fn renewed(&self) -> Patience {
        Patience { released: Arc::default(), ..self.clone() }
    }

    /// From now on the end of the time does not end anything: what was found is repeated, to be shown. The user still
    /// can.
    pub fn release(&self) {
        self.released.store(true, Ordering::Relaxed);
    }

    /// Why the work was ended from outside, if it was.
    pub fn ended(&self) -> Option<Ended> {
        match self.ask.as_ref()?() {
            Some(Ended::Time) if self.released.load(Ordering::Relaxed) => None,
            ended => ended,
        }
    }

    /// Writes everything to a socket whose writes wait for a short time only.
    pub fn write_all(&self, to: &mut impl io::Write, mut bytes: &[u8]) -> io::Result<()> {
        let mut since = Instant::now();
        while !bytes.is_empty() {
            match to.write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => (bytes, since) = (&bytes[count..], Instant::now()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_full(&error) => self.check_since(since)?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// An error if there is no patience left.
    pub fn check(&self) -> io::Result<()> {
        if self.ended().is_some() {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "ended while the server was waited for"));
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(silent(None)),
            _ => Ok(()),
        }
    }

    /// The same, for something that has been waited for since then.
    pub(crate) fn check_since(&self, since: Instant) -> io::Result<()> {
        self.check()?;
        match self.silence_max {
            Some(max) if since.elapsed() >= max => Err(silent(Some(max))),
            _ => Ok(()),
        }
    }
}

/// Whether there was no room within the time that writing waits.
fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

fn silent(max: Option<Duration>) -> io::Error {
    let sentence = match max {
        Some(max) => format!("it has said nothing for {} s", max.as_secs()),
        None => "it does not answer in time".to_string(),
    };
    io::Error::new(io::ErrorKind::TimedOut, sentence)
}

impl fmt::Debug for Patience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Patience { silence_max, deadline, .. } = self;
        write!(f, "Patience({:?}, {silence_max:?}, {deadline:?})", self.ended())
    }
}

/// Settings that differ in nothing but what ends them lead to the same session.
impl PartialEq for Patience {
    fn eq(&self, _: &Patience) -> bool {
        true
    }
}

impl Eq for Patience {}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(patience: &Patience) -> Option<io::ErrorKind> {
        patience.check_since(Instant::now() - Duration::from_secs(1)).err().map(|error| error.kind())
    }

    #[test]
    fn what_has_no_limit_lasts() {
        assert_eq!(kind(&Patience::default()), None);
        assert_eq!(kind(&Patience::until(|| None)), None);
    }

    #[test]
    fn silence_and_deadlines_end_it() {
        let silent = Patience::default().with_silence_max(Duration::from_secs(1));
        assert_eq!(kind(&silent), Some(io::ErrorKind::TimedOut));
        assert_eq!(kind(&Patience::default().with_silence_max(Duration::from_secs(60))), None);
        assert_eq!(kind(&Patience::lasting(Duration::ZERO)), Some(io::ErrorKind::TimedOut));
    }

    #[test]
    fn what_is_released_is_ended_by_the_user_alone() {
        for (ended, after) in [(Ended::Time, None), (Ended::Interrupt, Some(io::ErrorKind::Interrupted))] {
            let patience = Patience::until(move || Some(ended));
            assert_eq!(kind(&patience), Some(io::ErrorKind::Interrupted));
            let other = patience.renewed();
            patience.clone().release();
            assert_eq!(kind(&patience), after);
            assert_eq!(kind(&other), Some(io::ErrorKind::Interrupted));
        }
    }
}
