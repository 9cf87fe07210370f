def count(n):
    d = {}
    for i in range(1, n + 1):
        d[f"key{i % 100000}"] = i
    return len(d)


print(count(2000000))
