def walk(limit):
    i = a = b = 0
    while i < limit:
        if i % 3 == 0:
            a += 1
        elif i % 5 == 0:
            b += 2
        i += 1
    return a + b


print(walk(30000000))
