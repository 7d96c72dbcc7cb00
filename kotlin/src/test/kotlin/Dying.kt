import omr.Inbox
import omr.Watch

/** The exit code of a program that was halted in the middle of its work. */
const val HALTED = 9

/** Halts this JVM, without any clean-up, in the first stage that reports its progress. */
private object Halting : Watch {
    override fun at(stage: String, done: ULong, total: ULong) = Runtime.getRuntime().halt(HALTED)

    override fun isStopped() = false
}

/** A program with one recipient: `create HOME URL` makes her, `fetch HOME` halts within a fetch. */
fun main(args: Array<String>) {
    val (task, home) = args
    when (task) {
        "create" -> Inbox.create(home, args[2], null).close()
        "fetch" -> Inbox.open(home, null).use { it.fetch(Halting) }
        else -> error("expected create or fetch, found $task")
    }
}
