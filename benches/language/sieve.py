def below(limit):
    flags = [True for _ in range(limit)]
    count = 0
    for i in range(2, limit):
        if flags[i]:
            count += 1
            for k in range(i * i, limit, i):
                flags[k] = False
    return count


print(below(5000000))
