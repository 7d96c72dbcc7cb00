//! One request of several recipients.

use super::{Engines, Job, Part};
use crate::engine::{Answer, Loaded};
use crate::{DetectorError, Progress, Stages, Watching};
use omr_protocol::{Response, Scheme};
use std::sync::Arc;

/// What became of several recipients' request.
pub struct Answers {
    /// Each one's answer, in their order, with the seconds of all work that led to it.
    pub answers: Vec<Result<Answer, DetectorError>>,
    /// Seconds by stage, where work for several counts once.
    pub stages: Stages,
}

/// Answers a request by a scheme for several recipients. Where their keys [share
/// work](Loaded::is_answered_with), one run makes their digests, with one placement; it stops once the progress of all of
/// them asks for that. What they do not share is done for one after another.
///
/// Errors: those of a run for several, which concern all of them. What fails for one alone, as in
/// [`Engines::respond`], is in her place.
pub fn respond_together(
    recipients: &[(&Engines, &dyn Progress)],
    scheme: Scheme,
    mut job: Job,
) -> Result<Answers, DetectorError> {
    let mut stages = Stages::default();
    let begin = |(engines, progress): &(&Engines, _)| Recipient {
        parts: engines.checked_parts(scheme, &job),
        answers: Vec::new(),
        progress: *progress,
    };
    let mut all: Vec<Recipient> = recipients.iter().map(begin).collect();
    let parts = all.iter().map(|one| one.parts.as_ref().map_or(0, Vec::len));
    for number in 0..parts.max().unwrap_or(0) {
        for group in groups(&all, number) {
            answer(&mut all, &group, number, (scheme, &mut job), &mut stages)?;
        }
    }
    Ok(Answers {
        answers: all.into_iter().map(Recipient::answer).collect(),
        stages,
    })
}

/// What a recipient is asked for and has so far.
struct Recipient<'a> {
    /// Or why there will be no answer.
    parts: Result<Vec<Part>, DetectorError>,
    answers: Vec<Answer>,
    progress: &'a dyn Progress,
}

impl Recipient<'_> {
    fn part(&self, number: usize) -> Option<&Part> {
        self.parts.as_ref().ok()?.get(number)
    }

    fn answer(self) -> Result<Answer, DetectorError> {
        self.parts?;
        let (mut stages, mut unusable_clues) = (Stages::default(), 0);
        let mut responses = Vec::new();
        for answer in self.answers {
            stages.add(&answer.stages);
            unusable_clues += answer.unusable_clues;
            responses.push(answer.response);
        }
        Ok(Answer {
            response: Response::joined(responses).expect("the digests of a scheme's engines"),
            stages,
            unusable_clues,
        })
    }
}

/// The recipients who are asked for a part, by their places: those whose keys share the work on it together.
fn groups(all: &[Recipient], number: usize) -> Vec<Vec<usize>> {
    let key = |i: usize| all[i].part(number).map(|(key, _)| key);
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for i in 0..all.len() {
        let Some(own) = key(i) else { continue };
        let shares =
            |group: &&mut Vec<usize>| key(group[0]).is_some_and(|key| key.is_answered_with(&**own));
        match groups.iter_mut().find(shares) {
            Some(group) => group.push(i),
            None => groups.push(vec![i]),
        }
    }
    groups
}

/// Answers a part for those of a group.
///
/// Errors: those of a run for several.
fn answer(
    all: &mut [Recipient],
    group: &[usize],
    number: usize,
    (scheme, job): (Scheme, &mut Job),
    stages: &mut Stages,
) -> Result<(), DetectorError> {
    let parts = group.iter().filter_map(|&i| all[i].part(number));
    let mut keys: Vec<Arc<dyn Loaded>> = parts.map(|(key, _)| key.clone()).collect();
    let request = group.first().and_then(|&i| all[i].part(number));
    let Some(request) = request.map(|(_, request)| request.clone()) else {
        return Ok(());
    };
    let first = keys.remove(0);
    let task = job.task(first.kind(), request);
    let watching = Watching(group.iter().map(|&i| all[i].progress).collect());
    let made = if keys.is_empty() {
        first.answer(scheme, task, &watching).map(|one| vec![one])
    } else {
        first.answer_together(&keys, scheme, task, &watching)
    };
    match made {
        Ok(answers) => {
            // Each has the seconds of all.
            stages.add(&answers[0].stages);
            for (&i, answer) in group.iter().zip(answers) {
                all[i].answers.push(answer);
            }
        }
        Err(DetectorError::Stopped) => {
            let stopped = |&i: &usize| all[i].parts = Err(DetectorError::Stopped);
            group.iter().for_each(stopped);
        }
        Err(error) => match group {
            [one] => all[*one].parts = Err(error),
            _ => return Err(error),
        },
    }
    Ok(())
}
