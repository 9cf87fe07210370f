def make(n):
    out = []
    for i in range(1, n + 1):
        out.append(f"10.0.0.{i % 250} GET /page/{i % 1000} {200 + i % 5} {i}\n")
    return "".join(out)


def count(text):
    counts, total = {}, 0
    for line in text.split("\n"):
        parts = line.split(" ")
        if len(parts) > 4:
            status = parts[3]
            counts[status] = counts.get(status, 0) + 1
            total += int(parts[4])
    return f"{counts['200']} {counts['204']} {total}"


print(count(make(200000)))
