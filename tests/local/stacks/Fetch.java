import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;

/** Prints what each of the JDK's two HTTP clients gets, without a header of its own: `java Fetch.java CLIENT URL`. */
class Fetch {
    public static void main(String[] arguments) throws IOException, InterruptedException {
        URI uri = URI.create(arguments[1]);
        if (arguments[0].equals("HttpClient")) {
            System.out.print(HttpClient.newHttpClient().send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString()).body());
        } else {
            HttpURLConnection connection = (HttpURLConnection) uri.toURL().openConnection();
            System.out.print(new String(connection.getInputStream().readAllBytes()));
        }
    }
}
