def append(n):
    text = ""
    for _ in range(n):
        text += "hello"
    return len(text)


print(append(100000))
