//! Two packages that claim one name are told apart by an error, not by luck.

use learnkit::{ErrorKind, available_adapters, get_adapter, register_adapter};

register_adapter!("twice", "The first.", |_| Err(learnkit::Error::invalid("never built")));
register_adapter!("twice", "The second.", |_| Err(learnkit::Error::invalid("never built")));

#[test]
fn d18_a_name_that_is_claimed_twice_is_a_conflict_that_names_both() {
    let error = get_adapter("twice").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(error.to_string().matches("`learnkit-tests`").count(), 2, "{error}");
    // The others are found as before, sorted.
    let names: Vec<&str> = available_adapters().iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["react", "twice", "twice"]);
    assert!(get_adapter("react").is_ok());
}
