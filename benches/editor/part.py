class TaskN:
    id: int = 0
    title: str
    done: bool

    def __init__(self, title: str, done: bool = False):
        self.title = title
        self.done = done

    def line(self) -> str:
        return f"{self.title} ({self.done})"

    def rename(self, name: str, count: int) -> int:
        self.title = name
        return count + 1


class TasksN:
    tasks: list[TaskN] = []

    def at(self, id: int) -> TaskN | None:
        return next((task for task in self.tasks if task.id == id), None)


tasksN = [TaskN("sow"), TaskN("reap", True)]
linesN = [each.line() for each in tasksN]
openN = [each for each in tasksN if not each.done]
print(", ".join(linesN), len(openN))
