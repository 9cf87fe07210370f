// The rank and the card of a user in Go, over net/http and go-sqlite3: PORT DB UPSTREAM from the environment.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"strconv"
	"time"

	_ "github.com/mattn/go-sqlite3"
)

type Standing struct {
	Score int `json:"score"`
	Rank  int `json:"rank"`
}

type Profile struct {
	ID    int    `json:"id"`
	Name  string `json:"name"`
	About string `json:"about"`
}

type Card struct {
	Standing
	Profile *Profile `json:"profile"`
	Stale   bool     `json:"stale"`
	UserID  int      `json:"user_id"`
}

var board, score, better *sql.Stmt

var client = &http.Client{Transport: &http.Transport{MaxConnsPerHost: 256, MaxIdleConnsPerHost: 256}}

func standingOf(at, user int) (Standing, error) {
	var id, value, count int
	if err := board.QueryRow(at).Scan(&id); err != nil {
		return Standing{}, err
	}
	if err := score.QueryRow(at, user).Scan(&value); err != nil {
		return Standing{}, err
	}
	err := better.QueryRow(at, value).Scan(&count)
	return Standing{value, count + 1}, err
}

func profileOf(user int) *Profile {
	limited, cancel := context.WithTimeout(context.Background(), 800*time.Millisecond)
	defer cancel()
	request, err := http.NewRequestWithContext(limited, "GET", os.Getenv("UPSTREAM")+"/profiles/"+strconv.Itoa(user), nil)
	if err != nil {
		return nil
	}
	response, err := client.Do(request)
	if err != nil {
		return nil
	}
	defer response.Body.Close()
	var profile Profile
	if response.StatusCode != 200 || json.NewDecoder(response.Body).Decode(&profile) != nil {
		return nil
	}
	return &profile
}

func handle(answer func(standing Standing, user int) any) http.HandlerFunc {
	return func(out http.ResponseWriter, request *http.Request) {
		at, first := strconv.Atoi(request.PathValue("board"))
		user, second := strconv.Atoi(request.PathValue("user"))
		if first != nil || second != nil {
			http.Error(out, "not an integer", 422)
			return
		}
		standing, err := standingOf(at, user)
		if err != nil {
			http.NotFound(out, request)
			return
		}
		body, err := json.Marshal(answer(standing, user))
		if err != nil {
			http.Error(out, "no JSON", 500)
			return
		}
		out.Header().Set("Content-Type", "application/json")
		out.Write(body)
	}
}

func prepare(database *sql.DB, statement string) *sql.Stmt {
	prepared, err := database.Prepare(statement)
	if err != nil {
		log.Fatal(err)
	}
	return prepared
}

func main() {
	database, err := sql.Open("sqlite3", "file:"+os.Getenv("DB")+"?mode=ro")
	if err != nil {
		log.Fatal(err)
	}
	board = prepare(database, "select id from leaderboards where id = ?")
	score = prepare(database, "select value from scores where leaderboard_id = ? and user_id = ?")
	better = prepare(database, "select count(*) from scores where leaderboard_id = ? and value > ?")
	http.HandleFunc("GET /leaderboards/{board}/users/{user}", handle(func(standing Standing, user int) any {
		return standing
	}))
	http.HandleFunc("GET /leaderboards/{board}/users/{user}/card", handle(func(standing Standing, user int) any {
		profile := profileOf(user)
		return Card{standing, profile, profile == nil, user}
	}))
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
