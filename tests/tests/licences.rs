//! Every dependency may be used under a licence that goes with ours.

use std::process::Command;

use serde_json::Value;

/// Licences that ask for no more than notice.
const ACCEPTED: [&str; 10] = [
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Licences for what is no program, and what has them.
const ACCEPTED_FOR: [(&str, &str); 1] = [
    // For data, and asks for no more than its text where the data is passed on: Mozilla's list of
    // certificate authorities, which reqwest uses with rustls on Android only.
    ("webpki-root-certs", "CDLA-Permissive-2.0"),
];

fn excepted(package: &Value) -> bool {
    let field = |name: &str| package[name].as_str().unwrap_or_default();
    ACCEPTED_FOR.contains(&(field("name"), field("license")))
}

/// Whether an SPDX expression can be met. `OR` binds weaker than `AND`; parentheses are taken apart first.
fn accepted(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ");
    if let Some(open) = expression.rfind('(')
        && let Some(length) = expression[open..].find(')')
    {
        let inner = if accepted(&expression[open + 1..open + length]) { "MIT" } else { "none" };
        let rest = &expression[open + length + 1..];
        return accepted(&format!("{}{inner}{rest}", &expression[..open]));
    }
    expression.split(" OR ").any(|either| either.split(" AND ").all(|part| ACCEPTED.contains(&part.trim())))
}

#[test]
fn expressions_are_read_as_spdx_means_them() {
    assert!(accepted("MIT OR GPL-3.0-only"));
    assert!(accepted("(MIT OR GPL-3.0-only) AND Unicode-3.0"));
    assert!(accepted("MIT/Apache-2.0"));
    assert!(!accepted("MIT AND GPL-3.0-only"));
    assert!(!accepted("(MIT AND GPL-3.0-only) OR MPL-2.0"));
    assert!(!accepted(""));
}

#[test]
fn every_dependency_has_a_licence_that_goes_with_ours() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--all-features", "--locked"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("metadata is JSON");
    let packages = metadata["packages"].as_array().expect("a list of packages");
    assert!(packages.len() > 50, "{} packages", packages.len());
    let refused: Vec<_> = packages
        .iter()
        .filter(|package| !accepted(package["license"].as_str().unwrap_or_default()) && !excepted(package))
        .map(|package| format!("{} {}: {}", package["name"], package["version"], package["license"]))
        .collect();
    assert!(refused.is_empty(), "{refused:#?}");
    let needed = packages.iter().filter(|package| excepted(package)).count();
    assert_eq!(needed, ACCEPTED_FOR.len(), "an exception that nothing needs any more");
}
