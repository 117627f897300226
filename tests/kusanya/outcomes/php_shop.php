<?php
// A shop in PHP, without a package: verify, and ship once. By the environment: SHOP_DB, SHOP_SECRET.
declare(strict_types=1);

function is_ours(string $id, string $body): bool
{
    $key = base64_decode(substr(getenv("SHOP_SECRET"), strlen("whsec_")));
    $signed = "$id.{$_SERVER["HTTP_WEBHOOK_TIMESTAMP"]}.$body";
    $expected = "v1," . base64_encode(hash_hmac("sha256", $signed, $key, true));
    $is_expected = fn (string $one): bool => hash_equals($expected, $one);
    return array_filter(explode(" ", $_SERVER["HTTP_WEBHOOK_SIGNATURE"]), $is_expected) !== [];
}

$id = $_SERVER["HTTP_WEBHOOK_ID"];
$body = file_get_contents("php://input");
if (!is_ours($id, $body)) {
    http_response_code(401);
    return;
}
$event = json_decode($body);
$database = new PDO("sqlite:" . getenv("SHOP_DB"));
$database->exec("BEGIN IMMEDIATE");
$done = $database->prepare(
    "INSERT INTO kusanya_done (consumer, outcome_id) VALUES ('shipping', ?) ON CONFLICT DO NOTHING"
);
$done->execute([$id]);
if ($done->rowCount() === 1) {
    $effect = $database->prepare("INSERT INTO effect VALUES (?, ?)");
    $effect->execute([$event->type, $event->subject]);
}
$database->exec("COMMIT");
http_response_code(204);
