module leaderboards

go 1.23

require github.com/mattn/go-sqlite3 v1.14.52
