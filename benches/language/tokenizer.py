def count(text):
    words = numbers = others = at = 0
    size = len(text)
    while at < size:
        c = text[at]
        if "a" <= c <= "z":
            words += 1
            while at < size and "a" <= text[at] <= "z":
                at += 1
        elif "0" <= c <= "9":
            numbers += 1
            while at < size and "0" <= text[at] <= "9":
                at += 1
        else:
            if c != " ":
                others += 1
            at += 1
    return f"{words} {numbers} {others}"


print(count("alpha := beta * 120 + (gamma - 7) / delta; " * 25000))
