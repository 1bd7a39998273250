# Verifies one request whose raw body is in body.json:
# sh receive_webhook.sh <webhook-id> <webhook-timestamp> <webhook-signature>
key=$(printf %s "${WEBHOOK_SECRET#whsec_}" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \n')
digest=$({ printf '%s.%s.' "$1" "$2"; cat body.json; } | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | openssl base64 -A)
age=$(($(date +%s) - $2))
if [ "${age#-}" -gt 300 ]; then
  echo "refused: it was signed more than five minutes ago" && exit 1
fi
case " $3 " in
  *" v1,$digest "*) echo "verified" ;;
  *) echo "refused: no signature is by this secret" && exit 1 ;;
esac
