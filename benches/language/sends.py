class Shape:
    def area(self, n): return n + 1


class Square(Shape):
    def area(self, n): return n + 2


class Circle(Shape):
    def area(self, n): return n + 3


class Triangle(Circle):
    pass


def send(shapes):
    n = 0
    for i in range(5000000):
        n = shapes[i % 4].area(n)
    return n


print(send([Shape(), Square(), Circle(), Triangle()]))
