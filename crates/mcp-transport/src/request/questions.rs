use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rmcp::{
    ErrorData,
    model::{ClientConfig, ClientResult, RequestId, ServerNotification, ServerRequest},
    service::{NotificationContext, RequestContext, RoleClient, Service},
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Asked;

/// How many questions are remembered before their handler begins; what came with what is forgotten beyond.
#[cfg(feature = "http")]
const MOST: usize = 1024;

/// What the server asks in the middle of our requests: the user, a model, the roots.
///
/// The host is asked only while an answer is of use: a question ends with its connection, and with the
/// request that it came with where that is known (over HTTP it comes on the stream of a request). And
/// while the host thinks, the server has a reason to be silent.
#[derive(Default)]
pub(crate) struct Questions(Mutex<Open>);

#[derive(Default)]
struct Open {
    asked: HashMap<RequestId, Question>,
    /// Those whose request was given up, until their answer has been withheld.
    moot: HashSet<RequestId>,
    /// When the last question of a request of ours ended, by the request's number; none: of any.
    last: HashMap<Option<u64>, Instant>,
    has_ended: bool,
}

#[derive(Default)]
struct Question {
    /// The request of ours that it came with, if that is known.
    about: Option<u64>,
    with_host: bool,
    /// That request is over, so nobody asks when this question ended.
    outlives_request: bool,
    /// Its answer is of no use any more.
    over: CancellationToken,
}

impl Questions {
    /// This question came with the answer to this request of ours.
    #[cfg(feature = "http")]
    pub(crate) fn came_with(&self, id: &RequestId, request: u64) {
        let mut open = self.open();
        open.moot.remove(id);
        if open.asked.len() < MOST {
            open.asked.entry(id.clone()).or_default().about = Some(request);
        }
    }

    /// This request of ours was given up: nobody wants to know what its questions are answered with.
    pub(crate) fn give_up(&self, request: u64) {
        let mut open = self.open();
        open.last.remove(&Some(request));
        let Open { asked, moot, .. } = &mut *open;
        for (id, question) in asked.iter_mut().filter(|(_, question)| question.about == Some(request)) {
            question.outlives_request = true;
            question.over.cancel();
            moot.insert(id.clone());
        }
    }

    /// This request of ours was answered.
    pub(crate) fn answered(&self, request: u64) {
        let mut open = self.open();
        open.last.remove(&Some(request));
        open.asked.retain(|_, question| {
            let is_its_own = question.about == Some(request);
            question.outlives_request |= is_its_own;
            question.with_host || !is_its_own
        });
    }

    /// The connection has ended.
    pub(crate) fn end(&self) {
        let mut open = self.open();
        open.has_ended = true;
        open.asked.values().for_each(|question| question.over.cancel());
    }

    /// Until when the host was being asked something on behalf of this request, as far as can be told.
    pub(crate) fn asked_until(&self, request: u64) -> Option<Instant> {
        let open = self.open();
        let concerns = |question: &Question| question.about.is_none_or(|about| about == request);
        if open.asked.values().any(|question| question.with_host && concerns(question)) {
            return Some(Instant::now());
        }
        open.last.get(&None).max(open.last.get(&Some(request))).copied()
    }

    /// Whether the answer to this question is to be withheld. It is asked once.
    #[cfg(feature = "http")]
    pub(crate) fn is_moot(&self, id: &RequestId) -> bool {
        self.open().moot.remove(id)
    }

    fn ask_host(&self, id: &RequestId) -> WithHost<'_> {
        let mut open = self.open();
        let has_ended = open.has_ended;
        let question = open.asked.entry(id.clone()).or_default();
        question.with_host = true;
        if has_ended {
            question.over.cancel();
        }
        WithHost { questions: self, id: id.clone(), over: question.over.clone() }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The host is being asked. Dropping this ends that.
struct WithHost<'a> {
    questions: &'a Questions,
    id: RequestId,
    over: CancellationToken,
}

impl Drop for WithHost<'_> {
    fn drop(&mut self) {
        let mut open = self.questions.open();
        if let Some(question) = open.asked.remove(&self.id)
            && !question.over.is_cancelled()
            && !question.outlives_request
        {
            open.last.insert(question.about, Instant::now());
        }
    }
}

/// The host's handler, asked only while its answer is of use: what it does for a question that is over is
/// dropped. Of every request of the server's it is known when it is done.
pub(crate) struct Host<S> {
    handler: S,
    questions: Arc<Questions>,
    asked: Arc<Asked>,
}

impl<S> Host<S> {
    pub(crate) fn new(handler: S, questions: Arc<Questions>, asked: Arc<Asked>) -> Self {
        Self { handler, questions, asked }
    }
}

impl<S: Service<RoleClient>> Service<RoleClient> for Host<S> {
    async fn handle_request(
        &self,
        request: ServerRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<ClientResult, ErrorData> {
        let _attending = self.asked.attend(&context.id);
        if matches!(request, ServerRequest::PingRequest(_)) {
            return self.handler.handle_request(request, context).await;
        }
        let asked = self.questions.ask_host(&context.id);
        let taken_back = context.ct.clone();
        tokio::select! {
            biased;
            () = asked.over.cancelled() => {}
            () = taken_back.cancelled() => {}
            answer = self.handler.handle_request(request, context) => return answer,
        }
        Err(ErrorData::internal_error("the question is over", None))
    }

    async fn handle_notification(
        &self,
        notification: ServerNotification,
        context: NotificationContext<RoleClient>,
    ) -> Result<(), ErrorData> {
        self.handler.handle_notification(notification, context).await
    }

    fn get_info(&self) -> ClientConfig {
        self.handler.get_info()
    }
}

#[cfg(all(test, feature = "http"))]
mod tests {
    use super::*;
    use crate::{TransportError, request::Requests};

    #[test]
    fn a_question_that_outlives_its_request_leaves_nothing_behind() {
        let questions = Questions::default();
        for request in 0..100 {
            let id = RequestId::Number(request);
            let request = u64::try_from(request).unwrap();
            questions.came_with(&id, request);
            let asked = questions.ask_host(&id);
            assert!(questions.asked_until(request).is_some());
            questions.answered(request);
            drop(asked);
            assert!(questions.asked_until(request).is_none());
        }
        let open = questions.open();
        assert!(open.asked.is_empty() && open.last.is_empty() && open.moot.is_empty());
    }

    #[test]
    fn only_the_questions_of_a_request_end_when_it_is_given_up_and_their_answers_are_withheld_once() {
        let questions = Questions::default();
        let [waiting, asked, other, unknown] = [1, 2, 3, 4].map(RequestId::Number);
        questions.came_with(&waiting, 7);
        questions.came_with(&asked, 7);
        questions.came_with(&other, 8);
        let with_host = [&asked, &other, &unknown].map(|id| questions.ask_host(id));
        questions.give_up(7);
        assert_eq!(with_host.each_ref().map(|asked| asked.over.is_cancelled()), [true, false, false]);
        let withheld = || [&waiting, &asked, &other, &unknown].map(|id| questions.is_moot(id));
        assert_eq!(withheld(), [true, true, false, false]);
        assert_eq!(withheld(), [false; 4]);

        // A number is used again: what was withheld of the question before it is not withheld of this one.
        questions.give_up(8);
        questions.came_with(&other, 9);
        assert!(!questions.is_moot(&other));
    }

    #[test]
    fn an_answered_request_leaves_the_questions_that_its_host_has_and_those_of_others() {
        let questions = Questions::default();
        let [waiting, asked, other] = [1, 2, 3].map(RequestId::Number);
        questions.came_with(&waiting, 7);
        questions.came_with(&asked, 7);
        questions.came_with(&other, 8);
        let with_host = questions.ask_host(&asked);
        questions.answered(7);
        let open = || {
            let open = questions.open();
            [&waiting, &asked, &other].map(|id| open.asked.contains_key(id))
        };
        assert_eq!(open(), [false, true, true]);
        drop(with_host);
        assert_eq!(open(), [false, false, true]);
    }

    #[test]
    fn a_request_that_is_forgotten_withholds_its_hosts_answers_unless_it_was_answered() {
        for answered in [true, false] {
            let requests = Requests::default();
            let (tap, _arrival) = requests.open(None).unwrap();
            assert!(requests.register(&tap, &RequestId::Number(1), None));
            tap.sending().json_len = 1;
            tap.rule_out_proof();
            let question = RequestId::Number(7);
            requests.questions().came_with(&question, tap.key);
            let asked = requests.questions().ask_host(&question);
            if answered {
                let answer = || Err(TransportError::reply_too_large());
                assert!(requests.deliver_with_rmcp(&RequestId::Number(1), &tap, answer).is_some());
            }
            requests.forget(&tap);
            assert_eq!(requests.questions().is_moot(&question), !answered);
            drop(asked);
        }
    }

    #[test]
    fn a_host_is_not_asked_once_the_connection_has_ended() {
        let questions = Questions::default();
        let before = questions.ask_host(&RequestId::Number(1));
        assert!(!before.over.is_cancelled());
        questions.end();
        assert!(before.over.is_cancelled());
        assert!(questions.ask_host(&RequestId::Number(2)).over.is_cancelled());
    }

    #[test]
    fn how_many_questions_are_remembered_has_a_bound() {
        let questions = Questions::default();
        for id in 0..2 * MOST as i64 {
            questions.came_with(&RequestId::Number(id), 7);
        }
        assert_eq!(questions.open().asked.len(), MOST);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_counts_as_asked_about_while_its_own_question_or_one_of_nobody_is_with_the_host() {
        let questions = Questions::default();
        let [own, nobodys] = [1, 2].map(RequestId::Number);
        questions.came_with(&own, 7);
        assert_eq!(questions.asked_until(7), None, "it is not with the host yet");
        let asked = questions.ask_host(&own);
        let second = std::time::Duration::from_secs(1);
        tokio::time::advance(second).await;
        let ended = Instant::now();
        assert_eq!([7, 8].map(|request| questions.asked_until(request)), [Some(ended), None]);
        drop(asked);
        tokio::time::advance(second).await;
        assert_eq!([7, 8].map(|request| questions.asked_until(request)), [Some(ended), None]);

        let asked = questions.ask_host(&nobodys);
        assert_eq!(questions.asked_until(8), Some(Instant::now()));
        drop(asked);
        let later = Instant::now();
        tokio::time::advance(second).await;
        assert_eq!([7, 8].map(|request| questions.asked_until(request)), [Some(later); 2]);
        questions.answered(7);
        assert_eq!(questions.asked_until(7), Some(later));
    }
}
