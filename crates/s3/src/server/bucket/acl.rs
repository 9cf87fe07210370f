//! Access control lists: who was granted which permission, beside the owner.
//!
//! Grantees are keys of users and the groups of everybody and of all users with a signature.

use super::public_access_block::PublicAccessBlock;
use crate::server::fault::{FaultCode, S3Fault, S3Result};
use crate::server::xml::{self, Element, XmlWriter};
use http::HeaderMap;

/// Grants of one list.
const GRANTS: usize = 100;

/// The namespace of the type of a grantee.
const INSTANCE: &str = "http://www.w3.org/2001/XMLSchema-instance";

/// Who is granted something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Grantee {
    /// The user with this key.
    User(String),
    /// Everybody, without a signature, too.
    AllUsers,
    /// Every user of the server.
    AuthenticatedUsers,
}

/// What is granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permission {
    /// Everything.
    FullControl,
    /// Listing and reading.
    Read,
    /// Writing and deleting.
    Write,
    /// Reading the list.
    ReadAcp,
    /// Replacing the list.
    WriteAcp,
}

/// The permissions with their word in documents, and the header that grants them.
const PERMISSIONS: [(Permission, &str, &str); 5] = [
    (Permission::FullControl, "FULL_CONTROL", "x-amz-grant-full-control"),
    (Permission::Read, "READ", "x-amz-grant-read"),
    (Permission::ReadAcp, "READ_ACP", "x-amz-grant-read-acp"),
    (Permission::Write, "WRITE", "x-amz-grant-write"),
    (Permission::WriteAcp, "WRITE_ACP", "x-amz-grant-write-acp"),
];

/// The groups with their identifier and their address.
const GROUPS: [(Grantee, &str, &str); 2] = [
    (Grantee::AllUsers, "all-users", "http://acs.amazonaws.com/groups/global/AllUsers"),
    (
        Grantee::AuthenticatedUsers,
        "authenticated-users",
        "http://acs.amazonaws.com/groups/global/AuthenticatedUsers",
    ),
];

/// The grants of a bucket beside that of its owner, who has full control.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AccessControlList {
    /// Grantees with a permission each.
    pub(crate) grants: Vec<(Grantee, Permission)>,
}

impl AccessControlList {
    /// Reads the headers and the body of PutBucketAcl: a canned ACL, or grants in headers, or a document.
    pub(crate) fn from_request(
        headers: &HeaderMap,
        body: &[u8],
        owner: &str,
    ) -> S3Result<AccessControlList> {
        let canned = header(headers, "x-amz-acl");
        if let Some(canned) = canned {
            check_canned(canned)?;
        }
        if !body.is_empty() {
            let list = AccessControlList::parse(body, owner)?;
            if canned.is_some() || has_grant_headers(headers) {
                return Err(FaultCode::UnexpectedContent.into());
            }
            return Ok(list);
        }
        AccessControlList::from_headers(headers)?
            .ok_or_else(|| FaultCode::MissingSecurityHeader.into())
    }

    /// Reads a canned ACL or grants in headers, where the request has any.
    pub(crate) fn from_headers(headers: &HeaderMap) -> S3Result<Option<AccessControlList>> {
        match header(headers, "x-amz-acl") {
            Some(_) if has_grant_headers(headers) => {
                let words = "Specifying both Canned ACLs and Header Grants is not allowed.";
                Err(S3Fault::new(FaultCode::InvalidRequest).because(words))
            }
            Some(canned) => AccessControlList::canned(canned).map(Some),
            None if has_grant_headers(headers) => grants_of_headers(headers).map(Some),
            None => Ok(None),
        }
    }

    /// The grants of the name of a canned ACL.
    pub(crate) fn canned(name: &str) -> S3Result<AccessControlList> {
        let everybody = |permissions: &[Permission]| {
            permissions.iter().map(|permission| (Grantee::AllUsers, *permission)).collect()
        };
        check_canned(name)?;
        let grants = match name {
            "public-read" => everybody(&[Permission::Read]),
            "public-read-write" => everybody(&[Permission::Read, Permission::Write]),
            "authenticated-read" => vec![(Grantee::AuthenticatedUsers, Permission::Read)],
            _ => Vec::new(),
        };
        Ok(AccessControlList { grants })
    }

    /// Reads the document `AccessControlPolicy` of a bucket with this owner.
    pub(crate) fn parse(document: &[u8], owner: &str) -> S3Result<AccessControlList> {
        let malformed = || S3Fault::new(FaultCode::MalformedACLError);
        let root = xml::read(document).map_err(|_| malformed())?;
        let list = root.child("AccessControlList");
        if &*root.name != "AccessControlPolicy" {
            return Err(malformed());
        }
        let mut grants = Vec::new();
        for grant in list.into_iter().flat_map(|list| list.all("Grant")) {
            grants.push(grant_of(grant).ok_or_else(malformed)?);
        }
        if grants.len() > GRANTS {
            return Err(malformed());
        }
        let named = root.child("Owner").and_then(|owner| owner.text_of("ID"));
        match named.filter(|named| !named.is_empty()) {
            None => Err(malformed()),
            Some(named) if named != owner => {
                Err(S3Fault::new(FaultCode::InvalidArgument).because("Invalid id"))
            }
            Some(_) => {
                let own = (Grantee::User(owner.to_string()), Permission::FullControl);
                grants.retain(|grant| *grant != own);
                Ok(AccessControlList { grants })
            }
        }
    }

    /// The answer of GetBucketAcl: the grant of the owner comes first.
    pub(crate) fn to_xml(&self, owner: &str) -> String {
        XmlWriter::document("AccessControlPolicy", |xml| {
            xml.element("Owner", |xml| {
                xml.text("ID", owner);
                xml.text("DisplayName", owner);
            });
            xml.element("AccessControlList", |xml| {
                let user = Grantee::User(owner.to_string());
                write_grant(xml, &user, Permission::FullControl);
                for (grantee, permission) in &self.grants {
                    write_grant(xml, grantee, *permission);
                }
            });
        })
    }

    /// Whether the list grants a permission to a user (the key), or to everybody (`None`).
    pub(crate) fn allows(
        &self,
        user: Option<&str>,
        wanted: Permission,
        block: Option<&PublicAccessBlock>,
    ) -> bool {
        let ignores_public = block.is_some_and(|block| block.ignore_public_acls);
        self.grants.iter().any(|(grantee, permission)| {
            let holds = match grantee {
                Grantee::User(key) => user == Some(key),
                Grantee::AllUsers => !ignores_public,
                Grantee::AuthenticatedUsers => user.is_some() && !ignores_public,
            };
            holds && (*permission == wanted || *permission == Permission::FullControl)
        })
    }

    /// Whether something is granted to a group.
    pub(crate) fn is_public(&self) -> bool {
        self.grants.iter().any(|(grantee, _)| !matches!(grantee, Grantee::User(_)))
    }

    /// The keys of users that are named, to be looked up before the list is stored.
    pub(crate) fn users(&self) -> impl Iterator<Item = &str> {
        self.grants.iter().filter_map(|(grantee, _)| match grantee {
            Grantee::User(key) => Some(key.as_str()),
            _ => None,
        })
    }

    /// The grants as pairs of words, for the record: `("all-users", "READ")`.
    pub(crate) fn words(&self) -> impl Iterator<Item = (&str, &'static str, bool)> {
        self.grants.iter().map(|(grantee, permission)| {
            let (name, is_group) = name_of(grantee);
            (name, permission.word(), is_group)
        })
    }

    /// The list of such pairs; unknown words are left out, which grants nothing.
    pub(crate) fn from_words<'a, 'b>(
        words: impl Iterator<Item = (&'a str, &'b str, bool)>,
    ) -> Self {
        let grants = words.filter_map(|(name, permission, is_group)| {
            let grantee = match is_group {
                true => GROUPS.iter().find(|(_, id, _)| *id == name)?.0.clone(),
                false => Grantee::User(name.to_string()),
            };
            Some((grantee, Permission::from_word(permission)?))
        });
        AccessControlList { grants: grants.collect() }
    }
}

impl Permission {
    fn word(self) -> &'static str {
        PERMISSIONS.iter().find(|row| row.0 == self).map_or("", |row| row.1)
    }

    fn from_word(word: &str) -> Option<Permission> {
        PERMISSIONS.iter().find(|row| row.1 == word).map(|row| row.0)
    }
}

/// Refuses ACLs of objects: their permissions are those of the bucket and its policy. What only says
/// the default (`private`, `bucket-owner-full-control`) passes, because clients send it by themselves.
pub(crate) fn check_object_headers(headers: &HeaderMap) -> S3Result<()> {
    let canned = header(headers, "x-amz-acl");
    let is_default = matches!(canned, None | Some("private" | "bucket-owner-full-control"));
    if has_grant_headers(headers) || !is_default {
        return Err(FaultCode::NotImplemented.into());
    }
    Ok(())
}

fn check_canned(name: &str) -> S3Result<()> {
    match name {
        "private" | "public-read" | "public-read-write" | "authenticated-read" => Ok(()),
        _ => Err(S3Fault::new(FaultCode::InvalidArgument)
            .because("")
            .with("ArgumentName", "x-amz-acl")
            .with("ArgumentValue", name)),
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok()).filter(|value| !value.is_empty())
}

fn has_grant_headers(headers: &HeaderMap) -> bool {
    PERMISSIONS.iter().any(|(_, _, name)| header(headers, name).is_some())
}

/// `id="key", uri="…/AllUsers"`; a bare key is a user, too.
fn grants_of_headers(headers: &HeaderMap) -> S3Result<AccessControlList> {
    let mut grants = Vec::new();
    for (permission, _, name) in PERMISSIONS {
        for item in header(headers, name).unwrap_or("").split(',').map(str::trim) {
            let (kind, text) = item.split_once('=').unwrap_or(("id", item));
            let text = text.trim().trim_matches('"');
            let grantee = match kind.trim() {
                _ if text.is_empty() => continue,
                "uri" => GROUPS.iter().find(|row| row.2 == text).map(|row| row.0.clone()),
                "id" => Some(Grantee::User(text.to_string())),
                _ => None,
            };
            let grant = (
                grantee.ok_or_else(|| {
                    S3Fault::new(FaultCode::InvalidArgument)
                        .because("Argument format not recognized")
                        .with("ArgumentName", name)
                        .with("ArgumentValue", item)
                })?,
                permission,
            );
            if !grants.contains(&grant) {
                grants.push(grant);
            }
        }
    }
    match grants.len() > GRANTS {
        true => Err(FaultCode::InvalidRequest.into()),
        false => Ok(AccessControlList { grants }),
    }
}

fn grant_of(grant: &Element) -> Option<(Grantee, Permission)> {
    let permission = Permission::from_word(grant.text_of("Permission")?)?;
    let grantee = grant.child("Grantee")?;
    let id = grantee.text_of("ID").filter(|id| !id.is_empty());
    let grantee = match grantee.attribute("type")? {
        "CanonicalUser" => Grantee::User(id?.to_string()),
        "Group" => {
            let is_named = |row: &&(Grantee, &str, &str)| {
                Some(row.1) == id || grantee.text_of("URI") == Some(row.2)
            };
            GROUPS.iter().find(is_named)?.0.clone()
        }
        _ => return None,
    };
    Some((grantee, permission))
}

fn name_of(grantee: &Grantee) -> (&str, bool) {
    match grantee {
        Grantee::User(key) => (key, false),
        group => (GROUPS.iter().find(|row| row.0 == *group).map_or("", |row| row.1), true),
    }
}

fn write_grant(xml: &mut XmlWriter, grantee: &Grantee, permission: Permission) {
    xml.element("Grant", |xml| {
        let (name, is_group) = name_of(grantee);
        let kind = if is_group { "Group" } else { "CanonicalUser" };
        let attributes = format!("xmlns:xsi=\"{INSTANCE}\" xsi:type=\"{kind}\"");
        xml.element_with("Grantee", &attributes, |xml| {
            xml.text("ID", name);
            match GROUPS.iter().find(|row| row.0 == *grantee) {
                Some((_, _, address)) => xml.text("URI", address),
                None => xml.text("DisplayName", name),
            }
        });
        xml.text("Permission", permission.word());
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(k, v)| (k.parse().unwrap(), v.parse().unwrap())).collect::<HeaderMap>()
    }

    fn of(pairs: &[(&'static str, &str)], body: &str) -> S3Result<AccessControlList> {
        AccessControlList::from_request(&headers(pairs), body.as_bytes(), "me")
    }

    fn document(owner: &str, kind: &str, id: &str, permission: &str) -> String {
        format!(
            "<AccessControlPolicy>{owner}<AccessControlList><Grant><Grantee \
             xmlns:xsi=\"{INSTANCE}\" xsi:type=\"{kind}\">{id}</Grantee>\
             <Permission>{permission}</Permission></Grant></AccessControlList></AccessControlPolicy>"
        )
    }

    #[test]
    fn documents_are_read_and_written() {
        let list = AccessControlList {
            grants: vec![
                (Grantee::User("you".into()), Permission::WriteAcp),
                (Grantee::AllUsers, Permission::Read),
            ],
        };
        assert_eq!(AccessControlList::parse(list.to_xml("me").as_bytes(), "me").unwrap(), list);
        assert_eq!(AccessControlList::from_words(list.words()), list);
        assert!(list.is_public());
        assert_eq!(list.users().collect::<Vec<_>>(), ["you"]);
        assert!(list.allows(None, Permission::Read, None));
        assert!(!list.allows(None, Permission::Write, None));
        assert!(list.allows(Some("you"), Permission::WriteAcp, None));
        assert!(!list.allows(Some("they"), Permission::WriteAcp, None));
        let block = PublicAccessBlock { ignore_public_acls: true, ..PublicAccessBlock::default() };
        assert!(!list.allows(None, Permission::Read, Some(&block)));
    }

    #[test]
    fn headers_grant() {
        let list = of(&[("x-amz-acl", "public-read-write")], "").unwrap();
        assert!(list.allows(None, Permission::Write, None));
        assert_eq!(of(&[("x-amz-acl", "private")], "").unwrap(), AccessControlList::default());
        let uri = "http://acs.amazonaws.com/groups/global/AllUsers";
        let read = format!("id=\"you\", uri=\"{uri}\", they");
        let list = of(&[("x-amz-grant-read", &read)], "").unwrap();
        assert_eq!(list.users().collect::<Vec<_>>(), ["you", "they"]);
        assert!(list.is_public());
    }

    #[test]
    fn contradictions_are_refused() {
        let owner = "<Owner><ID>me</ID></Owner>";
        let good = document(owner, "CanonicalUser", "<ID>you</ID>", "READ");
        assert!(of(&[], &good).is_ok());
        for (pairs, body, code) in [
            (vec![], "", FaultCode::MissingSecurityHeader),
            (vec![("x-amz-acl", "mine")], "", FaultCode::InvalidArgument),
            (vec![("x-amz-acl", "private")], good.as_str(), FaultCode::UnexpectedContent),
            (vec![("x-amz-grant-read", "u")], good.as_str(), FaultCode::UnexpectedContent),
            (
                vec![("x-amz-acl", "private"), ("x-amz-grant-read", "u")],
                "",
                FaultCode::InvalidRequest,
            ),
            (vec![("x-amz-grant-read", "uri=x")], "", FaultCode::InvalidArgument),
        ] {
            assert_eq!(of(&pairs, body).unwrap_err().code, code, "{pairs:?}");
        }
    }

    #[test]
    fn malformed_documents_are_refused() {
        let owner = "<Owner><ID>me</ID></Owner>";
        for (text, code) in [
            (document("", "CanonicalUser", "<ID>u</ID>", "READ"), FaultCode::MalformedACLError),
            (
                document("<Owner/>", "CanonicalUser", "<ID>u</ID>", "READ"),
                FaultCode::MalformedACLError,
            ),
            (
                document(&owner.replace("me", "you"), "CanonicalUser", "<ID>u</ID>", "READ"),
                FaultCode::InvalidArgument,
            ),
            (document(owner, "CanonicalUser", "<ID>u</ID>", "LOOK"), FaultCode::MalformedACLError),
            (document(owner, "Robot", "<ID>u</ID>", "READ"), FaultCode::MalformedACLError),
            (document(owner, "CanonicalUser", "", "READ"), FaultCode::MalformedACLError),
            ("<a".to_string(), FaultCode::MalformedACLError),
        ] {
            assert_eq!(of(&[], &text).unwrap_err().code, code, "{text}");
        }
    }

    #[test]
    fn acls_of_objects_are_refused() {
        assert!(check_object_headers(&headers(&[("x-amz-acl", "private")])).is_ok());
        for pair in [("x-amz-acl", "public-read"), ("x-amz-grant-read", "u")] {
            let fault = check_object_headers(&headers(&[pair])).unwrap_err();
            assert_eq!(fault.code, FaultCode::NotImplemented);
        }
    }
}
