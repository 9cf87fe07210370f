def build(n):
    out = []
    for i in range(1, n + 1):
        out.append("item ")
        out.append(str(i))
    return len("".join(out))


print(build(1000000))
