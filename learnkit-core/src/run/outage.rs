//! Failures of the environment: a network that is down, a service that is overloaded. They say nothing about
//! the tool, the arguments or the procedure.
//!
//! Only wordings that leave no doubt count, in English, as libraries and services write them: what is
//! missed is held against a record once, what is taken wrongly hides a real failure.

use super::{CallStatus, ToolCall};
use crate::json::Json;

/// Wordings of networks, name services and overloaded servers, lowercase.
const WORDINGS: &[&str] = &[
    "connection refused",
    "connection reset",
    "connection aborted",
    "connection closed before",
    "connection timed out",
    "connection timeout",
    "connection error",
    "connect timeout",
    "connecttimeout",
    "failed to connect to",
    "could not connect to server",
    "econnrefused",
    "econnreset",
    "econnaborted",
    "etimedout",
    "enotfound",
    "eai_again",
    "enetunreach",
    "enetdown",
    "ehostunreach",
    "socket hang up",
    "remote end closed connection",
    "remotedisconnected",
    "server disconnected",
    "broken pipe",
    "network is down",
    "network is unreachable",
    "network unreachable",
    "no route to host",
    "host is unreachable",
    "err_internet_disconnected",
    "err_connection_",
    "err_name_not_resolved",
    "err_network_changed",
    "name or service not known",
    "temporary failure in name resolution",
    "failure in name resolution",
    "nodename nor servname provided",
    "could not resolve host",
    "dns error",
    "dns lookup failed",
    "getaddrinfo failed",
    "operation timed out",
    "request timed out",
    "read timed out",
    "read timeout",
    "readtimeout",
    "request timeout",
    "timeout exceeded",
    "timeout expired",
    "deadline exceeded",
    "deadline has elapsed",
    "too many requests",
    "rate limit exceeded",
    "rate limit reached",
    "rate limited",
    "rate_limit_error",
    "ratelimiterror",
    "overloaded_error",
    "is overloaded",
    "currently overloaded",
    "server overloaded",
    "overloaded, try again",
    "service unavailable",
    "service temporarily unavailable",
    "service is temporarily unavailable",
    "resource temporarily unavailable",
    "temporarily overloaded",
    "bad gateway",
    "gateway timeout",
    "gateway time-out",
    "upstream connect error",
];

/// Status codes of servers that are out of reach or have too much to do.
const CODES: &[&str] = &["408", "429", "502", "503", "504", "521", "522", "523", "524", "529"];

/// Words before a number that make it a status code.
const BEFORE_CODES: &[&str] =
    &["http", "status", "code", "error", "statuscode", "status_code", "http/1.1", "http/1.0", "http/2"];

/// More of a text is not looked at, in bytes: an error says at its beginning what it is.
const LOOKED_AT: usize = 2_000;

/// Whether the words of an error blame the environment.
pub(crate) fn is_outage(text: &str) -> bool {
    let lower = super::prefix(text, LOOKED_AT).to_lowercase();
    WORDINGS.iter().any(|wording| lower.contains(wording)) || has_code(&lower)
}

/// A code stands behind a word that makes it one: `HTTP 503`, `status code: 429`, but not `order 503`.
fn has_code(lower: &str) -> bool {
    let is_between =
        |char: char| char.is_whitespace() || matches!(char, ':' | '=' | '(' | ')' | '"' | '\'' | ',' | '[' | ']');
    let words: Vec<&str> = lower.split(is_between).filter(|word| !word.is_empty()).collect();
    words.windows(2).any(|pair| matches!(pair, [before, code] if BEFORE_CODES.contains(before) && CODES.contains(&code.trim_end_matches(['.', ';']))))
}

impl ToolCall {
    /// Whether it failed because the environment did.
    pub(crate) fn is_outage(&self) -> bool {
        let CallStatus::Failed { reason } = &self.status else { return false };
        is_outage(reason) || is_outage(self.output.as_text()) || has_status(&self.output.to_json())
    }
}

/// Whether an envelope has a status of the environment.
fn has_status(json: &Json) -> bool {
    ["status", "code", "statusCode"]
        .into_iter()
        .any(|key| matches!(json.get(key), Some(Json::Number(code)) if CODES.contains(&code.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f32_errors_of_networks_and_overloaded_services_blame_the_environment() {
        for text in [
            "Error: connect ECONNREFUSED 127.0.0.1:5432",
            "requests.exceptions.ConnectionError: HTTPConnectionPool(host='api', port=80): Max retries exceeded (Caused by \
             NewConnectionError('Failed to establish a new connection: [Errno 111] Connection refused'))",
            "ConnectionResetError: [Errno 104] Connection reset by peer",
            "Error: read ETIMEDOUT",
            "httpx.ReadTimeout: The read operation timed out",
            "socket.gaierror: [Errno -2] Name or service not known",
            "socket.gaierror: [Errno -3] Temporary failure in name resolution",
            "getaddrinfo ENOTFOUND api.example.invalid",
            "curl: (6) Could not resolve host: api.example.invalid",
            "dial tcp: lookup api.example.invalid: no such host: network is unreachable",
            "page.goto: net::ERR_INTERNET_DISCONNECTED",
            "error sending request: dns error: failed to lookup address information",
            "openai.RateLimitError: Error code: 429 - {'error': {'message': 'Rate limit reached'}}",
            "HTTP 503",
            "HTTP/1.1 503 Service Unavailable",
            "Request failed with status code 502",
            "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}",
            "upstream connect error or disconnect/reset before headers",
            "context deadline exceeded",
            "504 Gateway Timeout",
            "The model is overloaded. Please try again later.",
        ] {
            assert!(is_outage(text), "{text}");
        }
        assert!(has_status(&Json::of_result(r#"{"status": 503}"#)));
    }

    #[test]
    fn errors_of_tools_and_arguments_do_not() {
        for text in [
            "order 503 not found",
            "Error: 404 not found",
            "Error: order 429 is closed",
            "invalid value for `timeout`: must be positive",
            "permission denied",
            "no such user",
            "rate limit must be at least 1",
            "HTTP 500 Internal Server Error",
            "the connection string is malformed",
            "unknown tool",
            "the session has expired; log in again",
            "down",
            "payment service is down",
            "room 504 is taken",
            "the product is temporarily unavailable",
            "",
        ] {
            assert!(!is_outage(text), "{text}");
        }
        assert!(!has_status(&Json::of_result(r#"{"status": 404}"#)));
        assert!(!has_status(&Json::of_result(r#"{"data": {"status": 503}}"#)));
    }
}
