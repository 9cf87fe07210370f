//! Jobs: nothing is lost or done twice when processes are killed, posts wake workers, schedules run once.

use crate::support::http;
use crate::support::{Folder, Process, eventually, free_port, run, runnel};
use runnel_scratch::{Server, Service};
use std::time::{Duration, Instant};

const TOKEN: &str = "correct-horse-battery";

/// What each transaction posts.
const POSTED: u64 = 20;

/// Two kinds of jobs that write one row each, with the names `database` and `effects`. The lease is short.
fn kinds(database: &str) -> String {
    format!(
        "database ← ref:{database}.
         class Effect {{ var <int> id. var <string> name. }}
         class Posted {{ var <int> id. var <int> count. }}
         effects ← database table: Effect.
         posts ← database table: Posted.
         scheme:jobs ← #Jobs{{ database: database, lease: 1 seconds }}.
         jobs:work worker: {{ :name | effects insert: #Effect{{ name: name }} }}
            with: #{{ attempts: 100 }}.
         jobs:call worker: {{ :name :job | job complete: {{ effects insert: #Effect{{ name: name }} }} }}
            with: #{{ attempts: 100, transaction: false }}.
         "
    )
}

/// Starts a program in a folder.
fn start(folder: &Folder, name: &str, text: &str) -> Process {
    folder.write(name, text);
    Process::start(runnel().arg(name).current_dir(folder.path("")))
}

/// Kills two processes that post and work, in turn, and then counts.
fn kill(database: &str, kills: u64) {
    let folder = Folder::new();
    let posting = kinds(database)
        + &format!(
            "{{ true }} whileTrue: {{
                (jobs:work waiting) + (jobs:call waiting) < 400 ifTrue: {{ {{ database transaction: {{
                   posted ← posts insert: #Posted{{ count: {POSTED} }}.
                   jobs:work postAll: ((1 to: {POSTED}) asArray collect: {{ :i | \"w{{posted id}}-{{i}}\" }}).
                   jobs:call postAll: ((1 to: {POSTED}) asArray collect: {{ :i | \"c{{posted id}}-{{i}}\" }}).
                }} }} onError: {{ :e | stderr println: e }} }}.
                stdout println: 'posting'. stdout flush.
                runLoop runFor: 0.02
             }}"
        );
    folder.write("posting.st", posting);
    let begin = || Process::start(runnel().arg("posting.st").current_dir(folder.path("")));
    let mut processes = [begin(), begin()];
    for round in 0..kills {
        // Each time at another moment of what they do.
        let process = &mut processes[(round % 2) as usize];
        // The database may be busy with what the other one does.
        process.out_shows("posting");
        std::thread::sleep(Duration::from_millis(round * 37 % 340));
        process.signal("KILL");
        assert_eq!(process.end(), -9, "{}", process.err());
        *process = begin();
    }
    for process in &mut processes {
        process.out_shows("posting");
        process.signal("TERM");
        assert_eq!(process.end(), 0, "{}", process.err());
    }
    let counting = kinds(database)
        + "{ (jobs:work waiting) + (jobs:work running) + (jobs:call waiting) + (jobs:call running) = 0 }
              whileFalse: { runLoop runFor: 0.05 }.
           distinct ← ((database run: 'select count(distinct name) as n from effects') at: 0) at: 'n'.
           dead ← jobs:work dead count + jobs:call dead count.
           stdout println: \"{posts count} {effects count} {distinct} {dead}\".
           shell exit";
    folder.write("counting.st", counting);
    let counted = run(runnel().arg("counting.st").current_dir(folder.path("")));
    assert_eq!(counted.status, 0, "{}", counted.err);
    let numbers: Vec<u64> =
        counted.out.split_whitespace().map(|number| number.parse().unwrap()).collect();
    let [posts, effects, distinct, dead] = numbers[..] else { panic!("{}", counted.out) };
    let jobs = posts * POSTED * 2;
    assert!(posts > 0 && jobs == distinct, "{jobs} jobs, and {distinct} done\n{}", counted.err);
    assert_eq!((effects, dead), (jobs, 0), "{}", counted.err);
    println!("| {database:.8} | {kills:>5} kills | {jobs:>8} jobs | 0 lost | 0 done twice |");
}

/// How often a process is killed: `RUNNEL_KILLS`.
fn kills() -> u64 {
    std::env::var("RUNNEL_KILLS").ok().and_then(|count| count.parse().ok()).unwrap_or(8)
}

#[test]
fn no_job_is_lost_or_done_twice_when_processes_are_killed() {
    kill("sqlite:kills.db", kills());
}

#[test]
fn no_job_is_lost_or_done_twice_on_postgres() {
    let Some(server) = Server::for_test(Service::Postgres) else { return };
    kill(&server.url(), kills());
}

/// A worker of the queue `ping` in one process, and posts of another; how long each job takes to begin.
fn latencies(folder: &Folder, database: &str) -> Vec<f64> {
    let jobs = format!("scheme:jobs ← #Jobs{{ database: ref:{database} }}.");
    let worker = format!(
        "{jobs} jobs:ping worker: {{ :sent | stdout println: (Date now timeIntervalSince1970 - sent) }}.
         stdout println: 'ready'. stdout flush."
    );
    let worker = start(folder, "worker.st", &worker);
    worker.out_shows("ready");
    let posts = format!(
        "{jobs} 1 to: 10 do: {{ :i |
            jobs:ping post: Date now timeIntervalSince1970. runLoop runFor: 0.05 }}"
    );
    folder.write("posts.st", posts);
    let posted = run(runnel().arg("posts.st").current_dir(folder.path("")));
    assert_eq!(posted.status, 0, "{}", posted.err);
    let times = || worker.out().lines().filter_map(|line| line.parse().ok()).collect::<Vec<f64>>();
    eventually("all jobs have begun", || times().len() == 10);
    times()
}

#[test]
fn a_post_wakes_the_workers_of_every_process() {
    let folder = Folder::new();
    let slowest = |times: Vec<f64>| times.into_iter().fold(0.0, f64::max);
    // It looks every half a second.
    let time = slowest(latencies(&folder, "sqlite:ping.db"));
    assert!(time < 2.0, "{time}");
    let Some(server) = Server::for_test(Service::Postgres) else { return };
    // It would look every five seconds only.
    let time = slowest(latencies(&folder, &server.url()));
    assert!(time < 2.0, "{time}");
}

#[test]
fn a_post_of_a_handler_wakes_the_other_threads() {
    let folder = Folder::new();
    let port = free_port();
    let program = format!(
        "scheme:jobs ← #Jobs{{ database: ref:sqlite:threads.db }}.
         worker ← memory:started ifNil: {{ memory:started ← 1. jobs:ping worker: {{ :sent |
            memory:took ← Date now timeIntervalSince1970 - sent }} }}.
         scheme Site {{
            /post {{ post {{ jobs:ping post: Date now timeIntervalSince1970. 'posted' }} }}
            /took {{ get {{ memory:took }} }}
         }}
         #HTTPServer{{ port: {port} }} → #Site{{ }}"
    );
    folder.write("site.st", program);
    let mut command = runnel();
    let mut process =
        Process::start(command.args(["--workers", "3", "site.st"]).current_dir(folder.path("")));
    process.listens(port);
    for _ in 0..12 {
        assert_eq!(http::send(port, "POST", "/post", &[], b"").unwrap().status, 200);
        let mut time = String::new();
        eventually("the job has begun", || {
            time = http::get(port, "/took").text();
            time.parse::<f64>().is_ok()
        });
        // Less than the half second after which a worker looks by itself.
        assert!(time.parse::<f64>().unwrap() < 0.4, "{time}");
    }
}

#[test]
fn a_failing_job_takes_no_other_of_its_batch_with_it() {
    let folder = Folder::new();
    let program = kinds("sqlite:batch.db")
        + "jobs:some worker: { :number | effects insert: #Effect{ name: number stringValue }.
              number = 57 ifTrue: { Error signal: 'fifty-seven' } } with: #{ attempts: 1 }.
           jobs:some postAll: (1 to: 400) asArray.
           scheme:jobs drain.
           names ← database run: 'select count(*) as n, count(distinct name) as d from effects'.
           stdout println: names.
           stdout println: (jobs:some dead collect: { :job | job value }).
           shell exit";
    folder.write("batch.st", program);
    let done = run(runnel().arg("batch.st").current_dir(folder.path("")));
    assert_eq!(done.out, "[{n:399,d:399}]\n[57]\n", "{}", done.err);
}

#[test]
fn the_log_has_the_place_and_not_the_value() {
    let folder = Folder::new();
    let program = "scheme:jobs ← #Jobs{ database: ref:sqlite:log.db }.
        jobs:mail worker: { :mail |
           Error signal: 'not today' } with: #{ attempts: 2 }.
        jobs:mail post: 'a secret'.
        scheme:jobs drain.
        stdout println: (jobs:mail at: 1) error.
        shell exit";
    folder.write("log.st", program);
    let done = run(runnel().arg("log.st").current_dir(folder.path("")));
    assert!(done.err.contains("job 1 of mail failed at attempt 1 of 2 and runs again in "));
    assert!(done.err.contains("log.st:3"), "{}", done.err);
    assert!(!done.err.contains("a secret") && !done.out.contains("a secret"), "{}", done.err);
    assert!(!done.out.is_empty(), "{}", done.err);
}

#[test]
fn a_job_that_is_too_long_for_a_transaction_is_told_what_helps() {
    let folder = Folder::new();
    let program = "database ← ref:sqlite:long.db database: #{ transactionTimeout: 0.2 seconds }.
        scheme:jobs ← #Jobs{ database: database }.
        jobs:slow worker: { :number | runLoop runFor: 0.5 } with: #{ attempts: 1 }.
        jobs:slow post: 1.
        scheme:jobs drain.
        stdout println: (jobs:slow dead collect: { :job | job error hasPrefix: 'timeout' }).
        shell exit";
    folder.write("long.st", program);
    let done = run(runnel().arg("long.st").current_dir(folder.path("")));
    assert!(done.err.contains("help: give its worker `transaction: false`"), "{}", done.err);
    assert_eq!(done.out, "[true]\n", "{}", done.err);
}

#[test]
fn a_program_that_ends_finishes_its_jobs() {
    let folder = Folder::new();
    let program = "scheme:jobs ← #Jobs{ database: ref:sqlite:end.db }.
        jobs:slow worker: { :number |
           file:began ← 'yes'. runLoop runFor: 1.0. file:ended ← 'yes' } with: #{ transaction: false }.
        jobs:slow post: 1.
        jobs:slow post: 2 after: 1 hours.";
    let mut process = start(&folder, "end.st", program);
    eventually("the job has begun", || folder.path("began").exists());
    process.signal("TERM");
    assert_eq!(process.end(), 0, "{}", process.err());
    assert!(folder.path("ended").exists(), "{}", process.err());
    let asking = ["-e", "ref:sqlite:end.db run: 'select id, state, attempts from runnel_jobs'"];
    let left = run(runnel().args(asking).current_dir(folder.path("")));
    assert_eq!(left.out, "[{id:2,state:waiting,attempts:0}]\n", "{}", left.err);
}

#[test]
fn a_job_that_is_cut_waits_again_at_once() {
    let folder = Folder::new();
    let program = "scheme:jobs ← #Jobs{ database: ref:sqlite:cut.db }.
        jobs:slow worker: { :number |
           file:began ← 'yes'. runLoop runFor: 60.0 } with: #{ transaction: false }.
        jobs:slow post: 1.
        scheme Site { / { get { 'up' } } }
        #HTTPServer{ port: 0, stopTimeout: 1 seconds } → #Site{ }";
    let mut process = start(&folder, "cut.st", program);
    eventually("the job has begun", || folder.path("began").exists());
    process.err_shows("serving on");
    let told = Instant::now();
    process.signal("TERM");
    process.end();
    assert!(told.elapsed() < Duration::from_secs(8), "{}", process.err());
    let asking = ["-e", "ref:sqlite:cut.db run: 'select state, attempts from runnel_jobs'"];
    let left = run(runnel().args(asking).current_dir(folder.path("")));
    assert_eq!(left.out, "[{state:waiting,attempts:0}]\n", "{}", left.err);
}

#[test]
fn a_schedule_runs_once_over_all_processes() {
    let folder = Folder::new();
    let program = "database ← ref:sqlite:ticks.db.
        class Tick { var <int> id. var <string> moment. }
        ticks ← database table: Tick.
        scheme:jobs ← #Jobs{ database: database }.
        jobs:tick every: 1 seconds do: { :value |
           stdout println: 'tick'. stdout flush.
           ticks insert: #Tick{ moment: value at: 'moment' } }.
        stdout println: 'ready'. stdout flush";
    let mut processes: Vec<Process> = (0..3).map(|_| start(&folder, "ticks.st", program)).collect();
    for process in &processes {
        process.out_shows("ready");
    }
    eventually("four moments pass", || {
        let ticks = processes.iter().map(|process| process.out().matches("tick").count());
        ticks.sum::<usize>() >= 4
    });
    for process in &mut processes {
        process.signal("TERM");
        assert_eq!(process.end(), 0, "{}", process.err());
    }
    let asking = [
        "-e",
        "ref:sqlite:ticks.db run: 'select count(*) as n, count(distinct moment) as d from ticks'",
    ];
    let counted = run(runnel().args(asking).current_dir(folder.path(""))).out;
    let counts: Vec<u64> = counted
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|number| number.parse().ok())
        .collect();
    assert!(counts[0] >= 2 && counts[0] == counts[1], "{counted}");
}

#[test]
fn missed_moments_are_made_up_for_once() {
    let folder = Folder::new();
    let program = "database ← ref:sqlite:missed.db.
        scheme:jobs ← #Jobs{ database: database }.
        made ← [].
        worker ← jobs:report every: '0 6 * * *' zone: 'Europe/Berlin' do: { :value | made add: value }.
        { (database run: 'select name from runnel_job_schedules') isEmpty } whileTrue: { runLoop runFor: 0.02 }.
        worker stop.
        database run: 'update runnel_job_schedules set moment = moment - 300000'.
        jobs:report every: '0 6 * * *' zone: 'Europe/Berlin' do: { :value | made add: value }.
        { made isEmpty } whileTrue: { runLoop runFor: 0.05 }.
        runLoop runFor: 0.5.
        stdout println: made count.
        shell exit";
    folder.write("missed.st", program);
    let done = run(runnel().arg("missed.st").current_dir(folder.path("")));
    assert_eq!(done.out, "1\n", "{}", done.err);
}

#[test]
fn the_page_shows_queues_and_its_buttons_work() {
    let folder = Folder::new();
    let (port, admin) = (free_port(), free_port());
    let program = format!(
        "scheme:jobs ← #Jobs{{ database: ref:sqlite:page.db }}.
         jobs:mail worker: {{ :mail | Error signal: 'no <mail>' }} with: #{{ attempts: 1 }}.
         jobs:later post: 'a secret' after: 5 minutes.
         jobs:mail postAll: [ 'a secret', 2, 3 ].
         scheme Site {{ / {{ get {{ 'up' }} }} }}
         #HTTPServer{{ port: {port}, admin: {admin}, adminToken: '{TOKEN}' }} → #Site{{ }}"
    );
    let mut process = start(&folder, "page.st", &program);
    process.listens(admin);
    let bearer = format!("Bearer {TOKEN}");
    let headers = [("authorization", bearer.as_str())];
    let ask = |method: &str, target: &str, more: &[(&str, &str)]| {
        http::send(admin, method, target, &[&headers[..], more].concat(), b"").unwrap()
    };
    eventually("the jobs are dead", || {
        ask("GET", "/jobs", &[]).text().contains("<span class=\"badge bad\">3</span>")
    });
    let page = ask("GET", "/jobs", &[]);
    assert!(page.text().contains("<a href=\"?queue=later\">later</a></td><td>1</td><td>in "));
    assert!(page.header("content-security-policy").unwrap().contains("form-action 'self'"));
    let queue = ask("GET", "/jobs?queue=mail", &[]).text();
    assert!(queue.contains("error: no &lt;mail&gt;"), "{queue}");
    assert!(!queue.contains("a secret") && !page.text().contains("a secret"));
    assert!(queue.contains("action=\"?queue=mail&amp;retry=2\""), "{queue}");
    // Deleted, refused for another origin and without the token, and put back.
    let deleted = ask("POST", "/jobs?queue=mail&delete=2", &[("origin", "http://localhost")]);
    assert_eq!((deleted.status, deleted.header("location")), (303, Some("?queue=mail")));
    let other = ask("POST", "/jobs?queue=mail&delete=3", &[("origin", "http://evil.example")]);
    assert_eq!(other.status, 403);
    let open = http::send(admin, "POST", "/jobs?queue=mail&delete=3", &[], b"").unwrap();
    assert_eq!(open.status, 401);
    assert_eq!(ask("POST", "/jobs?queue=mail&retry=3", &[]).status, 303);
    eventually("the job has failed again", || process.err().matches("job 3 of mail").count() == 2);
    let asking =
        ["-e", "(ref:sqlite:page.db run: 'select id from runnel_jobs order by id') collect: 'id'"];
    let left = run(runnel().args(asking).current_dir(folder.path("")));
    assert_eq!(left.out, "[1,3,4]\n", "{}", left.err);
    assert_eq!(ask("POST", "/metrics", &[]).status, 405);
}

#[test]
fn an_admin_port_without_a_token_does_not_show_jobs() {
    let folder = Folder::new();
    let (port, admin) = (free_port(), free_port());
    let program = format!(
        "scheme:jobs ← #Jobs{{ database: ref:sqlite:page.db }}.
         scheme Site {{ / {{ get {{ 'up' }} }} }}
         #HTTPServer{{ port: {port}, admin: {admin} }} → #Site{{ }}"
    );
    let mut process = start(&folder, "page.st", &program);
    process.listens(admin);
    assert_eq!(http::get(admin, "/jobs").status, 403);
    assert_eq!(http::send(admin, "POST", "/jobs?queue=a", &[], b"").unwrap().status, 405);
}
