//! What an operator is shown costs a page of keys.

use crate::support::{at, none, run};
use runnel_s3::{COUNTED, INSPECTED, InspectedEntry, S3Service, S3ServiceOptions};
use runnel_store::{Answer, Content, Context, Entry, KeyPage, KeyRange, Memory, Reference, Store};
use std::cell::Cell;
use std::rc::Rc;

/// Counts what is read.
struct Counting {
    store: Memory,
    keys: Rc<Cell<usize>>,
    gets: Cell<usize>,
}

impl Store for Counting {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        self.gets.set(self.gets.get() + 1);
        self.store.get(reference, context)
    }

    fn list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        self.store.list(reference, context)
    }

    fn keys(
        &self,
        reference: &Reference,
        range: &KeyRange,
        context: &Context,
    ) -> Answer<Option<KeyPage>> {
        let (counted, page) = (self.keys.clone(), self.store.keys(reference, range, context));
        Answer::later(async move {
            let page = page.await?;
            counted.set(counted.get() + page.as_ref().map_or(0, |page| page.keys.len()));
            Ok(page)
        })
    }

    fn keeps_metadata(&self, reference: &Reference) -> bool {
        self.store.keeps_metadata(reference)
    }

    runnel_store::without!(links);

    fn describe(&self) -> String {
        "counting".to_string()
    }
}

impl Counting {
    fn new() -> Rc<Counting> {
        let (keys, gets) = (Rc::default(), Cell::default());
        Rc::new(Counting { store: Memory::site(), keys, gets })
    }

    /// A server of this store, after nothing was read.
    fn inspected(store: &Rc<Counting>) -> runnel_s3::S3Inspector {
        store.keys.set(0);
        store.gets.set(0);
        S3Service::new(store.clone(), S3ServiceOptions::default()).unwrap().inspector()
    }

    async fn put(&self, path: String) {
        self.store.put(&at(&path), Content::text("four"), &none()).await.unwrap();
    }
}

#[test]
fn a_page_of_buckets_counts_at_most_a_thousand_keys() {
    run(async {
        let store = Counting::new();
        for bucket in 0..INSPECTED + 20 {
            for key in 0..if bucket == 0 { 3 } else { 200 } {
                store.put(format!("bucket-{bucket:03}/{key}")).await;
            }
        }
        let inspector = Counting::inspected(&store);
        let page = inspector.buckets("").await.unwrap();
        assert_eq!(page.entries.len(), INSPECTED);
        // A further key says that there are more, and one is read ahead.
        assert!(store.keys.get() <= COUNTED + 2 * INSPECTED, "{}", store.keys.get());
        let counted = page.entries[0].counted.unwrap();
        assert_eq!((counted.objects, counted.bytes, counted.more), (3, Some(12), false));
        let counted = page.entries[1].counted.unwrap();
        assert_eq!((counted.objects, counted.more), (100, true));
        let all: usize =
            page.entries.iter().filter_map(|one| one.counted).map(|one| one.objects).sum();
        assert_eq!(all, COUNTED);
        assert!(page.entries[INSPECTED - 1].counted.is_none());
        let next = page.next.unwrap();
        let page = inspector.buckets(&next).await.unwrap();
        assert_eq!((page.entries.len(), page.next), (20, None));
        assert_eq!(page.entries[0].name, format!("bucket-{INSPECTED:03}"));
    });
}

#[test]
fn a_folder_reads_a_page_and_skips_what_is_below() {
    run(async {
        let store = Counting::new();
        for key in 0..300 {
            store.put(format!("photos/deep/{key:03}")).await;
            store.put(format!("photos/z{key:03}")).await;
        }
        let inspector = Counting::inspected(&store);
        let page = inspector.folder("photos", "", "").await.unwrap().unwrap();
        assert_eq!(page.entries.len(), INSPECTED);
        assert!(matches!(&page.entries[0], InspectedEntry::Folder(name) if name == "deep/"));
        assert!(matches!(&page.entries[1], InspectedEntry::Object(key, _) if key == "z000"));
        assert_eq!(page.next.as_deref(), Some("z098"));
        // The record of the bucket, and each object.
        assert!(store.gets.get() <= INSPECTED + 2, "{}", store.gets.get());
        let page = inspector.folder("photos", "", "z298").await.unwrap().unwrap();
        assert!(matches!(&page.entries[..], [InspectedEntry::Object(key, _)] if key == "z299"));
        let page = inspector.folder("photos", "deep/29", "").await.unwrap().unwrap();
        assert_eq!((page.entries.len(), page.next), (10, None));
        for missing in ["photox", "..", ".runnel-s3", ""] {
            assert!(inspector.folder(missing, "", "").await.unwrap().is_none(), "{missing}");
            assert!(inspector.object(missing, "a", "").await.unwrap().is_none(), "{missing}");
        }
    });
}
