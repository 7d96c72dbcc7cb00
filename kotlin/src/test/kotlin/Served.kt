import java.io.File
import java.io.OutputStream
import java.net.ServerSocket
import java.net.Socket
import java.net.URI
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.AtomicLong
import kotlin.concurrent.thread

/** The command `omr`, which the variable OMR_COMMAND names. */
private val COMMAND = checkNotNull(System.getenv("OMR_COMMAND")) { "expected the command omr in OMR_COMMAND, found none" }

private const val OPEN = "[access]\nanonymous_post = true\nanonymous_detect = true\n"

/** A server with a board of its own, below a folder. */
class Served(folder: File, params: String = TINY) : AutoCloseable {
    private val process: Process
    val url: String

    init {
        folder.mkdirs()
        File(folder, "omr.toml").writeText(OPEN)
        val serve = listOf(COMMAND, "serve", "--config", "omr.toml", "--listen", "127.0.0.1:0", "--data", "data")
        val builder = ProcessBuilder(serve + listOf("--params", params)).directory(folder)
        process = builder.redirectError(File(folder, "log")).start()
        val prefix = "listening on "
        val lines = process.inputStream.bufferedReader().lineSequence()
        val line = checkNotNull(lines.find { it.startsWith(prefix) }) { File(folder, "log").readText() }
        url = line.removePrefix(prefix).trim()
    }

    override fun close() {
        process.destroy()
        process.waitFor()
    }

    companion object {
        const val TINY = "insecure-tiny-hybrid-v4"
    }
}

/** A way to a server that ends after some bytes: what comes later waits, without an error. */
class Narrow(url: String, private val most: Long) : AutoCloseable {
    private val ahead = URI(url)
    private val listener = ServerSocket(0)
    private val passed = AtomicLong()
    private val sockets = ConcurrentLinkedQueue<Socket>()

    /** Open once the way has ended. */
    val full = CountDownLatch(1)
    val url = "http://127.0.0.1:${listener.localPort}"

    init {
        thread(isDaemon = true) {
            while (!listener.isClosed) {
                val near = runCatching { listener.accept() }.getOrNull() ?: break
                val far = Socket(ahead.host, ahead.port)
                sockets += listOf(near, far)
                thread(isDaemon = true) { runCatching { pass(near, far.getOutputStream(), most) } }
                thread(isDaemon = true) { runCatching { pass(far, near.getOutputStream(), Long.MAX_VALUE) } }
            }
        }
    }

    private fun pass(from: Socket, to: OutputStream, most: Long) {
        val bytes = ByteArray(1 shl 14)
        while (true) {
            val length = from.getInputStream().read(bytes)
            if (length < 0) return
            if (most < Long.MAX_VALUE && passed.addAndGet(length.toLong()) > most) {
                full.countDown()
                return
            }
            to.write(bytes, 0, length)
        }
    }

    override fun close() {
        listener.close()
        sockets.forEach(Socket::close)
    }
}

/** Another JVM, in which a recipient's program ends at once in the middle of its work. */
class Child(vararg args: String) {
    private val process: Process

    init {
        val java = File(System.getProperty("java.home"), "bin/java").path
        val library = "-Djna.library.path=${System.getProperty("jna.library.path")}"
        val classes = listOf("-cp", System.getProperty("java.class.path"), "DyingKt")
        process = ProcessBuilder(listOf(java, library) + classes + args).inheritIO().start()
    }

    fun kill() {
        process.destroyForcibly()
        process.waitFor()
    }

    fun ended(): Int = process.waitFor()
}
