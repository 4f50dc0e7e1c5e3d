import com.amazonaws.services.dynamodbv2.local.main.ServerRunner;
import com.amazonaws.services.dynamodbv2.local.server.DynamoDBProxyServer;
import java.io.OutputStream;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/**
 * Runs DynamoDB Local on a free port of 127.0.0.1, prints its URL, and ends with its standard input.
 *
 * <p>By itself it listens on all addresses, on a port that must be chosen before, and no option changes that.
 */
public class OnLoopback {
    public static void main(String[] options) throws Exception {
        var output = System.out;
        System.setOut(System.err); // so that the URL is the only thing on standard output
        var local = ServerRunner.createServerFromCommandLineArgs(options);
        var jetty = DynamoDBProxyServer.class.getDeclaredField("server");
        jetty.setAccessible(true);
        var connector = (ServerConnector) ((Server) jetty.get(local)).getConnectors()[0];
        connector.setHost("127.0.0.1");
        connector.setPort(0);
        local.start();
        output.println("http://127.0.0.1:" + connector.getLocalPort());
        System.in.transferTo(OutputStream.nullOutputStream()); // until whoever started it closes it, or ends
        System.exit(0);
    }
}
