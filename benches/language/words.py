def count(text):
    counts = {}
    for word in text.split(" "):
        counts[word] = counts.get(word, 0) + 1
    return f"{len(counts)} {counts['river']} {counts['of']}"


text = " ".join(
    f"the river of words number {i % 1000} flows over the old green stones and on of it w{i}" for i in range(1, 100001))
print(count(text))
